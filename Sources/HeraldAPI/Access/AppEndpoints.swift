import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Apps: the tenants of the server.
struct AppEndpoints: Sendable {
    let hub: Hub
    let access: AccessControl

    var routes: [Route] {
        [
            Route(.post, "/v1/apps", needs: .admin, add),
            Route(.get, "/v1/apps", needs: .admin, takesQuery: true, list),
            Route(.get, "/v1/apps/{id}", needs: .admin, show),
            Route(.patch, "/v1/apps/{id}", needs: .admin, change),
            Route(.delete, "/v1/apps/{id}", needs: .admin, remove),
        ]
    }

    // MARK: Reading

    /// Newest first; `default` is the last.
    private func list(_ call: Call) throws(Problem) {
        try call.send(newestFirst: hub.committed.apps.all, ids: "app_", id: \.id) {
            $1.members(of: $0, hub.committed)
        }
    }

    private func show(_ call: Call) throws(Problem) {
        let id = call.parameters[0]
        guard let app = hub.committed.apps.find(id) else { throw .noApp(id) }
        call.send(etag: String(app.version)) { $0.members(of: app, hub.committed) }
    }

    // MARK: Writing

    private func add(_ call: Call) throws(Problem) {
        let settings = try AppInput.new(call.json())
        let id = hub.ids.next("app_", time: hub.clock.wall())
        try write(call, .add(id: id, settings))
    }

    private func change(_ call: Call) throws(Problem) {
        let change = try AppInput.patch(call.json())
        try write(call, .update(id: call.parameters[0], ifVersion: call.versions(), change: change))
    }

    private func remove(_ call: Call) throws(Problem) {
        try write(call, .remove(id: call.parameters[0], ifVersion: call.versions()))
    }

    private func write(_ call: Call, _ action: AppWrite.Action) throws(Problem) {
        try Self.write(call, action, hub, access) { answer(to: call, $0) }
    }

    /// Submits a change of an app and sends the response; shared by all requests that change apps.
    static func write(
        _ call: Call, _ action: AppWrite.Action, _ hub: Hub, _ access: AccessControl,
        _ answer: @escaping @Sendable (AppWrite.Outcome) -> Response
    ) throws(Problem) {
        call.begin(hub)?.submit(
            AppWrite(action: action, provenance: call.provenance, idempotency: try call.idempotency(answer)) { result in
                if case .done(.removed(let app)) = result { access.streams.end { $0.app == app.key } }
                call.send(result, answer)
            })
    }

    func answer(to call: Call, _ outcome: AppWrite.Outcome) -> Response {
        switch outcome {
        case .added(let app): resource(app, status: 201, [.init("Location", "/v1/apps/\(app.id)")])
        case .updated(let app): resource(app)
        case .removed: Response(status: 204)
        case .notFound: call.response(to: .noApp(call.parameters.first ?? ""))
        case .versionMismatch: call.response(to: .preconditionFailed)
        case .nameTaken(let app): call.response(to: .nameTaken(app))
        case .invalid(let errors): call.response(to: .invalid(errors))
        case .isDefault: call.response(to: .defaultApp)
        case .tooMany:
            call.response(to: .tooMany("There are at most \(AppWrite.maxApps) apps. Delete some first."))
        }
    }

    private func resource(_ app: App, status: Int = 200, _ headers: [Response.Field] = []) -> Response {
        .resource(version: app.version, status: status, headers) { $0.members(of: app, hub.committed) }
    }
}

extension JSONObjectWriter {
    /// Writes the members that the pages of the dashboard show.
    mutating func members(of portal: Portal) {
        member("title", portal.title)
        member("logo", portal.logo)
        member("color", portal.color)
        member("language", portal.language.rawValue)
    }

    fileprivate mutating func members(of app: App, _ committed: CommittedState) {
        let (stored, pending) = (committed.usage.total(of: app.key), committed.pending.count(of: app.key))
        member("id", app.id)
        member("name", app.settings.name)
        member("max_delegates", app.settings.maxDelegates)
        member("events_per_second", app.settings.eventsPerSecond)
        member("max_stored_bytes", app.settings.maxStoredBytes)
        object("portal", of: app.settings.portal == Portal() ? nil : app.settings.portal) { portal, json in
            json.members(of: portal)
            json.member("frame_origins", portal.frameOrigins)
        }
        member("stored_bytes", stored.bytes + pending.bytes)
        member("stored_events", stored.events)
        member("created_at", app.createdAt == 0 ? nil : Timestamp(milliseconds: app.createdAt))
        member("updated_at", app.updatedAt == 0 ? nil : Timestamp(milliseconds: app.updatedAt))
    }
}
