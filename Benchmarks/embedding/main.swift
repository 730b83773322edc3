// What publishing costs in the process: a hub as an app has it, and tasks that each publish a value, wait until it is on disk,
// and publish the next, as the connections of the load generator do over HTTP. One webhook wants every event and is paused.
// Arguments: the folder of the hub, tasks, seconds. Prints one line of JSON; Benchmarks/run reads it.

import Glibc
import Herald

/// 512 bytes as JSON, as the events of the load generator.
struct Order: Encodable {
    struct Item: Encodable {
        let sku: String
        let quantity: Int
    }

    let number: Int
    let order = "A-1001"
    let amount = 1299
    let currency = "EUR"
    let paid = true
    let items = [Item(sku: "X1", quantity: 2), Item(sku: "Y2", quantity: 1)]
    let note = String(repeating: "x", count: 352)
}

/// User and system time of the process.
func cpuMicroseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

/// - Returns: how many events were published.
func publish(_ hub: Hub, tasks: Int, seconds: Double) async throws -> Int {
    let end = ContinuousClock.now + .seconds(seconds)
    return try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<tasks {
            group.addTask {
                var count = 0
                while ContinuousClock.now < end {
                    try await hub.publish("order.created", Order(number: count), subject: "customer-17")
                    count += 1
                }
                return count
            }
        }
        return try await group.reduce(0, +)
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let tasks = Int(arguments[2]), let seconds = Double(arguments[3]) else {
    fatalError("usage: EmbeddingBenchmark FOLDER TASKS SECONDS")
}
let hub = try await Hub.open(folder: arguments[1])
let settings = WebhookSettings(url: "https://receiver.example/hook")
try await hub.webhooks.pause(try await hub.webhooks.add(settings).id)

_ = try await publish(hub, tasks: tasks, seconds: 0.3)
let (cpu, began) = (cpuMicroseconds(), ContinuousClock.now)
let count = try await publish(hub, tasks: tasks, seconds: seconds)
let (used, elapsed) = (cpuMicroseconds() - cpu, (ContinuousClock.now - began) / .seconds(1))
await hub.stop(grace: .seconds(0))
print(
    #"{"events": \#(count), "events_per_s": \#(Double(count) / elapsed), "cpu_us_per_event": \#(used / Double(count))}"#
)
