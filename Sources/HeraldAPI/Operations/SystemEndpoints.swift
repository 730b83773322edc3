import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Health, metrics, and the description of the API.
struct SystemEndpoints: Sendable {
    let hub: Hub
    let metrics: Metrics
    let publicURL: PublicURL
    private let keySets = KeySets()

    var routes: [Route] {
        let json = APIDescription.naming(publicURL, APIDescription.json)
        let yaml = APIDescription.naming(publicURL, APIDescription.yaml)
        return [
            Route(.get, "/healthz", needs: nil) { call throws(Problem) in
                call.send { $0.member("status", "ok") }
            },
            Route(.get, "/readyz", needs: nil, ready),
            Route(.get, "/metrics", needs: .read, numbers),
            Route(.get, "/.well-known/jwks.json", needs: nil, takesQuery: true, keys),
            Route(.get, "/openapi.yaml", needs: nil, takesQuery: true) { call in
                call.send(type: "application/yaml", yaml)
            },
            Route(.get, "/openapi.json", needs: nil, takesQuery: true) { call in call.send([], json) },
            Route(.get, "/problems/{name}", needs: nil) { call throws(Problem) in
                guard let section = ProblemPage.sections[call.parameters[0]] else {
                    throw .notFound("There is no problem of this name.")
                }
                call.send(type: "text/plain; charset=utf-8", Array(section.utf8))
            },
        ]
    }

    /// Whether events can be accepted now: the last commits and database checkpoints succeeded, the disk has room, and a database
    /// that other processes share has responded lately. The response never waits for the store.
    private func ready(_ call: Call) throws(Problem) {
        try call.answer(from: hub, for: nil, within: ReadDeadlines.readiness) { _ in
            do throws(HubError) {
                try hub.health()
            } catch {
                return call.send(.notReady(error))
            }
            call.send { $0.member("status", "ready") }
        }
    }

    /// They concern the whole server, so they are for its operator, and for readers of `default`, but not for the users of its
    /// links.
    private func numbers(_ call: Call) throws(Problem) {
        let principal = call.principal
        let isReader = call.app == .default && principal.identity != .portalLink
        guard isReader || principal.scopes.allow(.admin) else { throw .forbidden(.admin) }
        let format = MetricsPage.Format(accept: call.request.head.list(of: "Accept"))
        @Sendable func send(_ reader: (any StoreReader)?) {
            call.send(type: format.contentType, metrics.text(reader, format))
        }
        // Monitoring must work even if too many other reads are waiting, or a shared store does not respond.
        let deadlines = hub.limitsReads ? call.admission.services.deadlines : nil
        let pending = deadlines?.expect(within: ReadDeadlines.read) {
            // A loop's thread has no time to examine every delegate.
            call.attempt { () throws(Problem) in
                let refuse: @Sendable (Problem) -> Void = { call.send($0) }
                try metrics.checks.pool.run(call.app, bytes: 0, refuse: refuse) { send(nil) }
            }
        }
        let isTaken = hub.read(app: nil) { reader in
            defer { withExtendedLifetime(pending) {} }
            send(hub.found(reader) { $0 })
        }
        if !isTaken { send(nil) }
    }

    /// Receivers of callbacks have no access key; an app's id can't be guessed.
    private func keys(_ call: Call) throws(Problem) {
        let id = try call.query("app")["app"] ?? App.default.id
        guard let app = hub.committed.apps.find(id), app.id == id else { throw .noApp(id) }
        try call.answer(from: hub, for: app.key) { _ in
            let body = keySets.body(of: app.key, hub.committed.registry, at: hub.clock.wall())
            call.send(type: JSONWebKey.mediaType, body)
        }
    }
}
