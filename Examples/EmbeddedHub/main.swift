import Delegation
import Foundation
import Herald

/// Called with every event, like a webhook that takes all types.
final class Journal: EventDelegate {
    func published(_ batch: EventBatch) {
        for entry in batch.positioned {
            print("  Journal: \(entry.position) \(entry.event.type) \(entry.event.subject ?? "-")")
        }
    }
}

/// Notified of the logins of paying users.
final class Concierge: AuthEventsDelegate, Sendable {
    func userIsLoggedIn(user: EventUser, sender: any DelegateSender) { print("  Concierge: user \(user.id) is here") }
    func userIsLoggedOut(user: EventUser?, sender: any DelegateSender) {}
    func userAuthStatusChanged(user: EventUser?, isLoggedIn: Bool?, sender: any DelegateSender) {}
}

enum Stage: String, Codable {
    case closed, open
}

final class Sign: StateDelegate, Sendable {
    func stateDidChange(from old: Stage, to new: Stage, sender: any DelegateSender) {
        print("  Sign: \(old.rawValue) → \(new.rawValue)")
    }
}

struct User: Codable {
    let id: String
    let plan: String
}

let folder = FileManager.default.temporaryDirectory.appending(path: "herald-example-\(UUID())")
let hub = try await Hub.open(folder: folder.path)

let journal = Journal()
hub.addDelegate(journal, description: "Prints everything")
let concierge = Concierge()
let paying = try ContentFilter(json: #"{"data": {"user": {"plan": ["pro"]}}}"#)
let concierged = hub.addDelegate(
    concierge, description: "Greets those who pay", selection: EventSelection(filter: paying))
let sign = Sign()
let signed = hub.addDelegate(sign, description: "Shows the stage", initial: Stage.closed) { try? $0.decode() }

print("The shop opens.")
try await hub.publish(.appState(Stage.open))
print("Ada comes, who pays.")
try await hub.publish(.loggedIn(User(id: "ada", plan: "pro")))
print("Bob comes, who doesn't.")
try await hub.publish(.loggedIn(User(id: "bob", plan: "free")))

await hub.stop(grace: .seconds(5))  // for callbacks that are on their way
try FileManager.default.removeItem(at: folder)
print("All \(hub.lastPosition) events were on disk before delegates were notified.")
_ = (concierged, signed)
