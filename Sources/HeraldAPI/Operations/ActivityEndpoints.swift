import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Events and attempts over time: of the server, an app, an event type or a delegate.
struct ActivityEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.get, "/v1/stats", needs: .read, takesQuery: true, show),
            Route(.get, "/v1/stats/types", needs: .read, takesQuery: true, list),
        ]
    }

    private func show(_ call: Call) throws(Problem) {
        let query = try call.query("interval", "since", "until", "type", "delegate", "apps")
        let scope = try scope(query, call)
        let (interval, slots) = try slots(query)
        try call.answer(from: hub) { reader in
            let activity = try Activity(scope, interval, slots, hub, reader)
            call.send { json in
                json.member("interval", interval.rawValue)
                json.array("data", of: activity.points) { $1.members(of: $0) }
            }
        }
    }

    private func list(_ call: Call) throws(Problem) {
        let query = try call.query("interval", "since", "until", "limit")
        let limit = try query.limit()
        let (_, slots) = try slots(query)
        try call.answer(from: hub) { reader in
            let types = try Activity.byType(call.app, slots, limit: limit, hub, reader)
            call.send { json in
                json.member("since", .timestamp(slots.lowerBound))
                json.array("data", of: types) { volume, entry in
                    entry.member("type", volume.type.isEmpty ? nil : volume.type)
                    entry.member("events", volume.events)
                    entry.member("delivered", volume.delivered)
                    entry.member("failed", volume.failed)
                }
            }
        }
    }

    private func scope(_ query: Query, _ call: Call) throws(Problem) -> Activity.Scope {
        let given = ["type", "delegate", "apps"].filter { query[$0] != nil }
        if given.count > 1 { throw .invalidParameters(given, "can't be combined") }
        if let type = query["type"] {
            guard EventType.isValid(type) else { throw .invalidParameter("type", "must be \(EventType.words)") }
            return .type(type, call.app)
        }
        if let id = query["delegate"] {
            return .delegate(try problem { () throws(HubError) in try hub.webhook(id, of: call.app) })
        }
        guard let apps = query["apps"] else { return .app(call.app) }
        guard apps == "all" else { throw .invalidParameter("apps", "must be all") }
        guard call.principal.scopes.allow(.admin) else { throw .forbidden(.admin) }
        return .server
    }

    private func slots(_ query: Query) throws(Problem) -> (Activity.Interval, ClosedRange<Int64>) {
        let given = try query.value("interval", "must be 5min, hour or day") { Activity.Interval(rawValue: $0) }
        let interval = given ?? .hour
        let (since, until) = (try query.time("since"), try query.time("until"))
        do throws(HubError) {
            return (interval, try Activity.slots(interval, since: since, until: until, now: hub.clock.wall()))
        } catch {
            guard case .invalid(let errors) = error else { throw Problem(error) }
            throw .validation(
                errors.map { .init(place: .parameter(String($0.pointer.dropFirst())), detail: $0.detail) })
        }
    }
}
