import Foundation
import Herald

nonisolated struct Order: Codable {
    let id: Int
    let total: Double
}

nonisolated struct User: Codable {
    let id: String
    let name: String
}

nonisolated struct Subscription: Codable {
    let url: String
    let events: [String]
}

/// Sends a mail for each order, also for those that were placed before a restart: it keeps the position of the last event that
/// it has handled.
actor Mailer {
    private let hub: Hub
    private let file: URL
    private var mails: [String] = []

    init(_ hub: Hub, keepingPositionIn file: URL) {
        self.hub = hub
        self.file = file
    }

    /// Ends when the hub has stopped.
    func run() async throws -> [String] {
        let position = try? JSONDecoder().decode(EventPosition.self, from: Data(contentsOf: file))
        for try await entry in hub.events(after: position ?? .start, matching: "order.placed") {
            let order: Order = try entry.event.decode()
            mails.append("Thank you for order \(order.id)")
            try JSONEncoder().encode(entry.position).write(to: file, options: .atomic)
        }
        return mails
    }
}

/// The response for an error of the hub, which says what is wrong.
nonisolated func response(to error: HubError) -> Response {
    let lines = error.description.replacing("\n", with: "; ")
    if case .notFound = error { return Response(404, lines) }
    return Response(422, lines)
}

let folder = URL(filePath: CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : "order-server")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
var options = Hub.Options()
options.allowsLoopback = true  // to try it with a receiver on this machine
let hub = try await Hub.open(folder: folder.appending(path: "events").path, options: options)

var router = Router()
router.on("POST", "orders") { request in
    let order: Order = try request.decode()
    try await hub.publish("order.placed", order, subject: "order:\(order.id)")
    return try Response(201, order)
}
router.on("POST", "logins") { request in
    let user: User = try request.decode()
    try await hub.publish(.loggedIn(user))
    return Response(200, "hello, \(user.name)")
}
router.on("POST", "webhooks") { request in
    let wanted: Subscription = try request.decode()
    do throws(HubError) {
        let webhook = try await hub.webhooks.add(wanted.url, events: wanted.events)
        // The partner needs `webhook.secret` to verify the signatures.
        return Response(webhook.secret == nil ? 200 : 201, "\(webhook.status)")
    } catch {
        return response(to: error)
    }
}
router.on("GET", "webhooks") { _ in
    let webhooks = try await hub.webhooks.list().elements
    return try Response(
        200, webhooks.map { Subscription(url: $0.settings.url, events: $0.settings.events.map(\.text)) })
}
router.on("POST", "webhooks/:id/pause") { request in
    do throws(HubError) {
        return Response(200, "\(try await hub.webhooks.pause(request.parameters[0]).status)")
    } catch {
        return response(to: error)
    }
}

let mailer = Mailer(hub, keepingPositionIn: folder.appending(path: "mailer.json"))
let mailing = Task { try await mailer.run() }
try await router.run()

// First the requests end, then the hub: callbacks that are on their way get five seconds, the rest is sent after the next
// start. The mailer gets all that was published before.
await hub.stop(grace: .seconds(5))
for mail in try await mailing.value { print("Mail:", mail) }
