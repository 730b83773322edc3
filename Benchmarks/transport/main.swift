// What sending alone costs: the sender of the service, on one thread, without log, lanes and store. It posts signed events
// to http://127.0.0.1:PORT/hook/1, 64 at a time, for so many seconds, as Benchmarks/reference/send.c does by bare libcurl.
// Prints one line of JSON; Benchmarks/run reads it.

import Glibc
import HeraldModel
import HeraldWebhooks

/// As many as a service has in its memory at a time; taken in turns.
let messages = 1024
let inFlight = 64
let warmUp = 2000

func makeEvent(_ number: Int) -> Event {
    func field(_ value: Int) -> String {
        let digits = String(value)
        return String(repeating: " ", count: 20 - digits.count) + digits
    }
    let data = """
        {"benchmark_id":\(field(number)),"sent_ns":\(field(0)),"order":"A-1001","amount":1299,"currency":"EUR","paid":true,\
        "items":[{"sku":"X1","quantity":2},{"sku":"Y2","quantity":1}],"note":"\(String(repeating: "x", count: 241))"}
        """
    let digits = String(number)
    let id = "evt_" + String(repeating: "0", count: 26 - digits.count) + digits
    return Event(id: id, type: "order.created", subject: "customer-17", time: 1_767_225_600_000, data: Array(data.utf8))
}

/// User and system time of the process.
func cpuMicroseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

struct Refused: Error, CustomStringConvertible {
    let verdict: CallbackOutcome.Verdict
    var description: String { "a callback ended as \(verdict)" }
}

/// One sender, and the callbacks that it has to send.
struct Loop {
    private let sender: CurlSender
    private let delegate: WebhookDelegate
    private let events: [Event]
    private var started = 0
    private(set) var ended = 0
    private var refusal: Refused?

    init(port: Int) throws {
        let configuration = CurlSender.Configuration(version: "0", addressGuard: AddressGuard(allowLoopback: true))
        sender = try CurlSender(configuration, resolver: Resolver())
        let settings = WebhookSettings(url: "http://127.0.0.1:\(port)/hook/1")
        let secret = DelegateSecret(SigningSecret(bytes: Array(repeating: 7, count: 32)))
        delegate = WebhookDelegate(
            app: .default, key: 1, id: "dlg_00000000000000000000000001",
            state: .init(settings: settings, secrets: [secret]), start: 0, createdAt: 0, updatedAt: 0, version: 1)
        events = (1...messages).map(makeEvent)
    }

    /// Keeps as many on their way as there is room for, until some have ended.
    mutating func turn() throws {
        while started - ended < inFlight {
            sender.start(
                Callback(token: started, delegate: delegate, event: events[started % messages], attempt: 1))
            started += 1
        }
        sender.poll(nanoseconds: nil) { _, outcome in
            ended += 1
            if !outcome.isSuccess { refusal = Refused(verdict: outcome.verdict) }
        }
        if let refusal { throw refusal }
    }
}

guard CommandLine.arguments.count == 3, let port = Int(CommandLine.arguments[1]),
    let seconds = Double(CommandLine.arguments[2])
else {
    print("usage: TransportBenchmark PORT SECONDS")
    exit(64)
}
var loop = try Loop(port: port)
while loop.ended < warmUp { try loop.turn() }
let before = loop.ended
let cpuBefore = cpuMicroseconds()
let clock = ContinuousClock()
let start = clock.now
let end = start + .seconds(seconds)
while clock.now < end { try loop.turn() }
let elapsed = (clock.now - start) / .seconds(1)
let count = Double(loop.ended - before)
let cpu = (cpuMicroseconds() - cpuBefore) / count
print(#"{"requests":\#(Int(count)),"per_s":\#(count / elapsed),"cpu_us":\#(cpu)}"#)
