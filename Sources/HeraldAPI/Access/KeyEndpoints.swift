import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Access keys: creating, listing, replacing and revoking them.
struct KeyEndpoints: Sendable {
    let hub: Hub
    let access: AccessControl

    var routes: [Route] {
        [
            Route(.post, "/v1/keys", needs: .admin, add),
            Route(.get, "/v1/keys", needs: .admin, takesQuery: true, list),
            Route(.get, "/v1/keys/{id}", needs: .admin, show),
            Route(.delete, "/v1/keys/{id}", needs: .admin, revoke),
            Route(.post, "/v1/keys/{id}/rotate", needs: .admin, rotate),
        ]
    }

    // MARK: Reading

    /// Newest first.
    private func list(_ call: Call) throws(Problem) {
        try call.send(newestFirst: hub.committed.keys.list(call.app), ids: "key_", id: \.key.id) {
            $1.members(of: $0.key, in: hub.committed.apps, lastUsedAt: $0.lastUsedAt)
        }
    }

    private func show(_ call: Call) throws(Problem) {
        let id = call.parameters[0]
        guard let entry = hub.committed.keys.entry(id: id) else { throw .noKey(id) }
        call.send { $0.members(of: entry.key, in: hub.committed.apps, lastUsedAt: entry.lastUsedAt) }
    }

    // MARK: Writing

    private func add(_ call: Call) throws(Problem) {
        let now = hub.clock.wall()
        let text = try newText(now)
        let key = try KeyInput.read(
            call.json(), app: call.app, hub.committed.apps, hub.committed.registry, text, now: now)
        try write(call, .addKey(key), app: call.app, showing: text)
    }

    private func rotate(_ call: Call) throws(Problem) {
        let overlap = try KeyInput.overlap(call.optionalJSON())
        let text = try newText(hub.clock.wall())
        let replacement = AccessWrite.NewKey(id: text.id, digest: text.digest)
        try change(
            call, .rotateKey(id: call.parameters[0], replacement: replacement, overlap: overlap), showing: text)
    }

    private func revoke(_ call: Call) throws(Problem) { try change(call, .revokeKey(id: call.parameters[0])) }

    /// Changes the key in the path, in its app. The id is sufficient, because the scope `admin`, which these routes need, applies
    /// to every app.
    private func change(_ call: Call, _ action: AccessWrite.Action, showing text: KeyText? = nil) throws(Problem) {
        let id = call.parameters[0]
        if let entry = hub.committed.keys.entry(id: id) {
            return try write(call, action, app: entry.key.app, showing: text)
        }
        try call.afterLooking(hub) { () throws(Problem) in
            try write(call, action, app: hub.committed.keys.entry(id: id)?.key.app ?? call.app, showing: text)
        }
    }

    private func newText(_ now: Int64) throws(Problem) -> KeyText {
        guard let text = try? KeyText(id: hub.ids.next("key_", time: now)) else { throw .noRandomness }
        return text
    }

    /// - Parameter text: the text of the new key; the response stored for an idempotency key omits it, because texts
    ///   are not stored.
    private func write(
        _ call: Call, _ action: AccessWrite.Action, app: AppKey, showing text: KeyText?
    ) throws(Problem) {
        let idempotency: Idempotency<AccessWrite.Outcome>? = try call.idempotency { answer(to: call, $0, nil) }
        call.begin(hub)?.submit(
            AccessWrite(
                app: app, hasOperatorKey: access.hasOperatorKey, action: action, provenance: call.provenance,
                idempotency: idempotency
            ) { result in
                if case .done(.revoked(let key)) = result { access.streams.end { $0.key == key.id } }
                call.send(result) { answer(to: call, $0, text) }
            })
    }

    private func answer(to call: Call, _ outcome: AccessWrite.Outcome, _ text: KeyText?) -> Response {
        switch outcome {
        case .added(let key):
            return .json(status: 201, [.init("Location", "/v1/keys/\(key.id)")]) {
                $0.members(of: key, in: hub.committed.apps, lastUsedAt: nil)
                $0.member("key", ifPresent: text?.text)
            }
        case .revoked, .noted: return Response(status: 204)
        case .notFound, .tooManyLinks: return call.response(to: .noKey(call.parameters.first ?? ""))
        case .lastAdminKey: return call.response(to: .lastAdminKey)
        case .tooManyKeys:
            return call.response(to: .tooMany("An app has at most \(AccessWrite.maxKeys) keys. Revoke some first."))
        }
    }
}

extension Problem {
    fileprivate static func noKey(_ id: String) -> Problem { .notFound("There is no key with the id \(id).") }
}

extension JSONObjectWriter {
    fileprivate mutating func members(of key: APIKey, in apps: AppCatalogue, lastUsedAt: Int64?) {
        member("id", key.id)
        member("app", apps[key.app]?.id)
        member("name", key.name)
        member("scopes", key.scopes.map(\.rawValue))
        member("requests_per_second", key.requestsPerSecond)
        member("delegate", key.delegate)
        member("created_at", .timestamp(key.createdAt))
        member("expires_at", key.expiresAt.map { Timestamp(milliseconds: $0) })
        member("last_used_at", lastUsedAt.map { Timestamp(milliseconds: $0) })
    }
}
