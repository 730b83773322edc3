import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Signing in to the dashboard, and out.
struct SessionEndpoints: Sendable {
    let hub: Hub
    let access: AccessControl
    /// Whether the server itself uses https.
    let isTLS: Bool

    var routes: [Route] {
        [
            Route(.get, "/v1/session", needs: nil, show),
            Route(.post, "/v1/session", needs: nil, takesQuery: true, open),
            Route(.delete, "/v1/session", needs: nil, close),
        ]
    }

    /// The client's access, and whether a key is needed.
    private func show(_ call: Call) throws(Problem) {
        do throws(Problem) {
            show(try access.principal(of: call.request.head), call)
        } catch {
            let head = call.request.head
            // Without credentials, there is nothing that another process may have made.
            guard !SessionCookie.ids(in: head).isEmpty || head.bytes(of: "Authorization") != nil else {
                return show(nil, call, hold: access.counted(error, from: call.request.peer).holdMilliseconds)
            }
            afterLooking(call) { [self] in
                do throws(Problem) {
                    show(try access.principal(of: call.request.head), call)
                } catch {
                    show(nil, call, hold: access.counted(error, from: call.request.peer).holdMilliseconds)
                }
            }
        }
    }

    /// Runs the body when memory has what other processes have made: at once if there are none.
    private func afterLooking(_ call: Call, _ body: @escaping @Sendable () -> Void) {
        guard hub.canCatchUp else { return body() }
        let pending = call.deadline()
        if !hub.catchUp({ _ in withExtendedLifetime(pending) { body() } }) { body() }
    }

    private func show(_ principal: Principal?, _ call: Call, hold milliseconds: Int = 0) {
        var response = Response.json { answer in
            answer.member("key_required", access.isRequired)
            answer.member("app", principal.flatMap { hub.committed.apps[$0.app]?.settings.name })
            answer.member("signed_in", principal.map { $0.identity != .anyone } ?? false)
            answer.member("portal", principal?.identity == .portalLink)
            let app = principal.flatMap { $0.identity == .portalLink ? hub.committed.apps[$0.app] : nil }
            answer.object("appearance", of: app?.settings.portal) { $1.members(of: $0) }
            let scopes = Scope.allCases.filter { principal?.scopes.allow($0) == true }
            answer.member("scopes", scopes.map(\.rawValue))
        }
        response.holdMilliseconds = milliseconds
        call.send(response)
    }

    /// Exchanges a key or a link's token for a cookie; a dry run only says of which app.
    private func open(_ call: Call) throws(Problem) {
        let isDryRun = try call.query("dry_run").flag("dry_run")
        // Other sites must not sign the user in, not even with a key of their own or from an allowed origin.
        guard [.ownPage, .program].contains(RequestSource(call.request.head)) else { throw .foreignOrigin }
        let document = try call.json()
        try FieldReader(document, fields: ["key", "portal_link"]).check()
        let principal: Principal?
        switch (document["key"]?.string, document["portal_link"]?.string) {
        case (let key?, nil): principal = access.principal(Array(key.utf8)[...])
        case (nil, let token?): principal = access.principal(link: token)
        default:
            throw .invalid([FieldError("/key", "is required, an access key; or portal_link, the end of a link's url")])
        }
        guard let principal else { throw .wrongKey }
        try access.count(principal)
        if isDryRun { return call.send { $0.member("app", hub.committed.apps[principal.app]?.settings.name) } }
        try start(principal, call)
    }

    private func start(_ principal: Principal, _ call: Call) throws(Problem) {
        let (text, session) = try access.newSession(principal)
        let seconds = max(1, (session.expiresAt - hub.clock.wall()) / 1000)
        let answer = Response(
            status: 204, headers: [cookie(text, seconds: seconds, isFramed: isFramed(principal), call)])
        call.begin(hub)?.submit(
            AccessWrite(app: session.app, action: .open(session)) { result in
                switch result {
                case .done(.noted): call.send(answer)
                case .refused(.store), .refused(.busy):
                    // An operator must be able to sign in when the disk fails; such a session lasts until the server
                    // restarts.
                    hub.committed.sessions.keepInMemory(session)
                    call.send(answer)
                case .refused(let refusal): call.send(Problem(refusal))
                case .done, .replayed: call.send(Problem.unauthorized)
                }
            })
    }

    private func close(_ call: Call) throws(Problem) {
        let head = call.request.head
        // Browsers keep a cookie that is removed with other attributes, and the session may have expired.
        let answer = Response(status: 204, headers: [false, true].map { cookie("", seconds: 0, isFramed: $0, call) })
        let ids = SessionCookie.isSameOrigin(head) ? SessionCookie.ids(in: head) : []
        guard ids.allSatisfy({ access.isKnown($0) }) else {
            // Another process may have made it just now.
            return afterLooking(call) { [self] in close(ids[...]) { call.send(answer) } }
        }
        close(ids[...]) { call.send(answer) }
    }

    /// - Parameter isFramed: whether pages of other sites may show the dashboard in a frame.
    private func cookie(_ id: String, seconds: Int64, isFramed: Bool, _ call: Call) -> Response.Field {
        SessionCookie.setCookie(
            id, seconds: seconds, isFramed: isFramed, call.request.head, for: call.publicURL, isTLS: isTLS)
    }

    private func isFramed(_ principal: Principal) -> Bool {
        principal.identity == .portalLink && hub.committed.apps[principal.app]?.settings.portal.frameOrigins != []
    }

    /// One after the other.
    private func close(_ ids: ArraySlice<ArraySlice<UInt8>>, _ done: @escaping @Sendable () -> Void) {
        guard let id = ids.first else { return done() }
        access.close(id) { close(ids.dropFirst(), done) }
    }
}
