import Herald
import HeraldRuntime
import HeraldSQLite
import HeraldWebhooks

/// Prints every event, once it is on disk.
final class Printer: EventDelegate {
    func published(_ batch: EventBatch) {
        for event in batch.events { print(event.type, event.subject ?? "") }
    }
}

func embed(inFolder folder: String) async throws {
    let sending = CurlSender.Configuration(version: "1.0", addressGuard: AddressGuard())
    let resolver = Resolver()
    let hub = try Hub(
        store: SQLiteStore(folder: folder),
        onDurabilityLost: { error in fatalError("It is unknown what is on disk: \(error)") },
        makeSender: { try CurlSender(sending, resolver: resolver) })

    let printer = Printer()
    hub.addDelegate(printer, description: "Prints events")  // held weakly, as delegates are

    let now = hub.clock.wall()
    let event = Event(
        id: hub.ids.next("evt_", time: now), type: "order.placed", subject: "order:1001", time: now,
        data: Array(#"{"total": 12.50}"#.utf8))
    _ = try await hub.publish([EventDraft(event: event, mayExist: false)])  // returns once it is on disk

    hub.stop(grace: 5_000_000_000)  // nanoseconds for callbacks that are on their way
    resolver.close()
}
