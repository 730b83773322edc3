import Delegation
import Foundation
import Herald
import HeraldJSON
import HeraldRuntime
import HeraldSQLite
import HeraldWebhooks

/// Told of every event, like a webhook that takes all types.
final class Journal: EventDelegate {
    func published(_ batch: EventBatch) {
        for (offset, event) in batch.events.enumerated() {
            print("  Journal: \(batch.first + Int64(offset)) \(event.type) \(event.subject ?? "-")")
        }
    }
}

/// Told of the logins of those who pay.
final class Concierge: AuthEventsDelegate {
    func userIsLoggedIn(user: EventUser) { print("  Concierge: user \(user.id) is here") }
}

enum Stage: String {
    case closed, open
}

final class Sign: StateDelegate {
    func stateDidChange(from old: Stage, to new: Stage) { print("  Sign: \(old.rawValue) → \(new.rawValue)") }
}

struct NotAnEvent: Error { let errors: [FieldError] }

extension Hub {
    /// Posts an event as a client of the HTTP API would. Returns when it is on disk and everyone here was told.
    func post(_ json: String) async throws {
        var errors: [FieldError] = []
        let context = EventInput.Context(app: .default, now: clock.wall(), ids: ids)
        guard let draft = EventInput.read(try JSONDocument(parsing: json).root, context, &errors) else {
            throw NotAnEvent(errors: errors)
        }
        _ = try await publish([draft])
    }
}

let folder = FileManager.default.temporaryDirectory.appending(path: "herald-example-\(UUID())")
let resolver = Resolver()
let sending = CurlSender.Configuration(version: "1.0", addressGuard: AddressGuard())
let hub = try Hub(
    store: SQLiteStore(folder: folder.path),
    onDurabilityLost: { error in
        print("Nobody can know what is on disk: \(error)")
        exit(74)
    },
    makeSender: { try CurlSender(sending, resolver: resolver) })

let journal = Journal()
hub.addDelegate(journal, description: "Prints everything")
let concierge = Concierge()
let paying = ContentFilter(text: Array(#"{"data": {"user": {"plan": ["pro"]}}}"#.utf8))
let concierged = hub.addDelegate(
    concierge, description: "Greets those who pay", selection: EventSelection(filter: paying))
let sign = Sign()
let signed = hub.addDelegate(sign, description: "Shows the stage", initial: Stage.closed) { state in
    (try? JSONDocument(parsing: state.json))?.root.string.flatMap(Stage.init)
}

print("The shop opens.")
try await hub.post(#"{"type": "app_state.changed", "data": {"state": "open"}}"#)
print("Ada comes, who pays.")
try await hub.post(#"{"type": "auth.logged_in", "data": {"user": {"id": "ada", "plan": "pro"}}}"#)
print("Bob comes, who doesn't.")
try await hub.post(#"{"type": "auth.logged_in", "data": {"user": {"id": "bob", "plan": "free"}}}"#)

hub.stop(grace: 5_000_000_000)  // nanoseconds for callbacks that are on their way
resolver.close()
try FileManager.default.removeItem(at: folder)
print("All \(hub.head) events were on disk before anybody was told.")
_ = (concierged, signed)
