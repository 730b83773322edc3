import CSQLite
import Crypto
import Delegation
import HTTPClient
import Herald
import JSON

struct Order: Codable {
    let total: Double
}

/// `import Herald` has not changed what Swift's own names mean.
func count(_ numbers: some Sequence<Int>) -> Int { numbers.reduce(0) { sum, _ in sum + 1 } }

@main
struct App {
    /// - Parameter arguments: the folder of the hub.
    static func main() async throws {
        let hub = try await Hub.open(folder: CommandLine.arguments[1])
        let entries = hub.events()
        try await hub.webhooks.add("https://shop.example/hook", events: ["nothing.happened"])
        try await hub.publish("order.placed", Order(total: 12.5), subject: "order:1")
        for try await entry in entries {
            print(entry.position, entry.event.type, try entry.event.decode(Order.self).total)
            break
        }
        await hub.stop(grace: .seconds(5))
        let told = MulticastDelegate<any AnyObject & Sendable>()
        told.removeAllDelegates()
        print(SHA256.byteCount, sqlite_stub_version(), JSON.null, type(of: HTTPClient()), count([1, 2]))
    }
}
