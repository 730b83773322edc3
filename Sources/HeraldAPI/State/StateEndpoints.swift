import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Auth status and app state: reading the current value, and setting it by posting the event.
struct StateEndpoints: Sendable {
    let hub: Hub
    let checks: SchemaChecks
    let watch: AppStateWatch
    let waits: ReceiverWaits
    let access: AccessControl

    var routes: [Route] {
        [
            Route(.get, "/v1/auth/{user_id}", needs: .read, takesSlashes: true, showAuth),
            Route(.put, "/v1/auth/{user_id}", needs: .publish, takesSlashes: true, setAuth),
            Route(.get, "/v1/app-state", needs: .read, takesQuery: true, showAppState),
            Route(.put, "/v1/app-state", needs: .publish, takesQuery: true, setAppState),
        ]
    }

    // MARK: Auth

    private func showAuth(_ call: Call) throws(Problem) {
        try sendAuth(call, of: userID(call))
    }

    /// - Parameter isInMemory: whether memory has the latest status, if it has one.
    private func sendAuth(_ call: Call, of userID: String, isInMemory: Bool = true) throws(Problem) {
        @Sendable func send(_ status: AuthStatus?) {
            call.send(etag: status?.version ?? AuthStatus.unknownVersion) { $0.members(of: status, userID) }
        }
        if isInMemory, let status = hub.committed.auth.status(call.app, userID: userID) { return send(status) }
        try call.answer(from: hub) { reader in send(try reader.authStatus(app: call.app, userID: userID)) }
    }

    private func setAuth(_ call: Call) throws(Problem) {
        let userID = try userID(call)
        let document = try call.json()
        var errors = document.errors(unlessObjectOf: ["status", "user"])
        let types = ["logged_in": "auth.logged_in", "logged_out": "auth.logged_out"]
        let type = document["status"]?.string.flatMap { types[$0] }
        if type == nil { errors.append(FieldError("/status", "must be \"logged_in\" or \"logged_out\"")) }
        guard let type, errors.isEmpty else { throw .invalid(errors) }
        // Equivalent to publishing the event: both are validated in one place.
        try posted(call, type, subject: AuthFamily.subject(ofUser: userID)) { data in
            if let user = document.nonNull("user") {
                data.member("user", user)
            } else if type == "auth.logged_in" {
                data.object("user") { $0.member("id", userID) }
            }
        } then: { event, trace throws(Problem) in
            // By bytes, as the status is stored.
            guard case .auth(let told, let isLoggedIn, let user, _) = event.family, told.utf8.elementsEqual(userID.utf8)
            else {
                throw .invalid([FieldError("/user/id", "must be the user of the path, \(userID)")])
            }
            let ifMatch = call.versions(absent: "unknown")
            let draft = event.with(
                .auth(userID: userID, isLoggedIn: isLoggedIn, user: user, ifMatch: ifMatch))
            publish(call, draft, trace) { isInMemory throws(Problem) in
                try sendAuth(call, of: userID, isInMemory: isInMemory)
            }
        }
    }

    private func userID(_ call: Call) throws(Problem) -> String {
        let userID = call.parameters[0]
        guard (1...AuthFamily.maxUserIDBytes).contains(userID.utf8.count) else {
            throw .notFound("A user id has 1 to \(AuthFamily.maxUserIDBytes) bytes.")
        }
        return userID
    }

    // MARK: App state

    /// Now, or with `wait` when the version differs from the client's.
    private func showAppState(_ call: Call) throws(Problem) {
        let query = try call.query("wait", "if_none_match")
        // As in the header, or without the quotation marks. A header with several tags can't be waited for.
        let header = call.request.head.list(of: "If-None-Match").flatMap { $0.contains(",") ? nil : $0 }
        let known = (query["if_none_match"] ?? header).map { text in
            let tag = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
            return tag.hasPrefix("\"") && tag.hasSuffix("\"") ? tag.filter { $0 != "\"" } : String(tag)
        }
        let version = watch.version(call.app)
        guard let seconds = try query.wait(), known ?? version == version else {
            return try sendAppState(call, unless: known)
        }
        guard let wait = waits.begin(for: call.app) else { throw .tooManyWaits }
        watch.wait(call.app, known: version, seconds: seconds) {
            defer { withExtendedLifetime(wait) {} }
            call.attempt { () throws(Problem) in
                // The key may have been revoked since the request.
                guard access.isValid(call.principal) else { throw .unauthorized }
                try sendAppState(call, unless: known)
            }
        }
    }

    /// - Parameter known: the client's version; 304 if it is still current.
    private func sendAppState(_ call: Call, unless known: String?) throws(Problem) {
        if let known, known == watch.version(call.app) {
            return call.send(Response(status: 304, headers: [.init("ETag", "\"\(known)\"")]))
        }
        try sendAppState(call)
    }

    /// - Parameter isInMemory: whether memory has the latest state, if there is one.
    private func sendAppState(_ call: Call, isInMemory: Bool = true) throws(Problem) {
        @Sendable func send(_ state: AppState?) {
            call.send(etag: state?.eventID ?? AppState.unknownVersion) { $0.members(of: state) }
        }
        if isInMemory, let state = hub.committed.appState.state(call.app) { return send(state) }
        if isInMemory, hub.committed.appState.version(call.app) == nil { return send(nil) }
        try call.answer(from: hub) { reader in send(try reader.appState(call.app)) }
    }

    private func setAppState(_ call: Call) throws(Problem) {
        let onlyIfChanged = try call.query("if_changed").flag("if_changed")
        let document = try call.json()
        var errors = document.errors(unlessObjectOf: ["state"])
        if document["state"] == nil {
            errors.append(FieldError("/state", "is required, such as {\"data_retrieval\": \"success\"} or \"idle\""))
        }
        guard let state = document["state"], errors.isEmpty else { throw .invalid(errors) }
        try posted(call, "app_state.changed") {
            $0.member("state", state)
        } then: { event, trace throws(Problem) in
            let ifMatch = call.versions(absent: "unknown")
            let draft = event.with(
                .appState(state: state.bytes, onlyIfChanged: onlyIfChanged, ifMatch: ifMatch))
            publish(call, draft, trace) { isInMemory throws(Problem) in
                try sendAppState(call, isInMemory: isInMemory)
            }
        }
    }

    // MARK: Both

    /// Continues with the event of a PUT, validated as if it had been posted; on another thread if its type has a
    /// schema.
    private func posted(
        _ call: Call, _ type: String, subject: String? = nil, _ data: (inout JSONObjectWriter) -> Void,
        then finish: @escaping @Sendable (EventDraft, PublicationTrace?) throws(Problem) -> Void
    ) throws(Problem) {
        let trace = PublicationTrace(hub.tracer, call.request.head)
        let json = JSONWriter.document {
            $0.member("type", type)
            $0.member("subject", ifPresent: subject)
            $0.object("data", data)
        }
        // Around what the client sent, the event has one level and a few values more.
        var limits = JSONLimits.standard
        limits.depth += 1
        limits.values += 4
        let document = try JSONDocument(reading: json, limits: limits)
        var errors: [FieldError] = []
        let context = EventInput.Context(call, hub, trace)
        let draft = EventInput.read(document.root, context, &errors)
        guard let draft, errors.isEmpty else { throw Self.invalid(errors) }
        guard let description = checks.description(for: draft.event) else { return try finish(draft, trace) }
        try checks.pool.run(call) { [checks] budget throws(Problem) in
            try checks.violations(of: document["data"], at: "/data", description, within: &budget)
        } then: { [checks] violations throws(Problem) in
            if !violations.isEmpty {
                checks.count(description.check)
                if description.check == .enforce { throw Self.invalid(violations) }
            }
            try finish(draft, trace)
        }
    }

    private static func invalid(_ errors: [FieldError]) -> Problem {
        // The client sent the data as the body.
        .invalid(
            errors.map {
                FieldError($0.pointer.hasPrefix("/data") ? String($0.pointer.dropFirst(5)) : $0.pointer, $0.detail)
            })
    }

    /// Posts the event.
    /// - Parameter respond: sends the new value, with its `ETag`.
    private func publish(
        _ call: Call, _ draft: EventDraft, _ trace: PublicationTrace?,
        then respond: @escaping @Sendable (_ isInMemory: Bool) throws(Problem) -> Void
    ) {
        call.begin(hub)?.publish(
            Publication(app: call.app, drafts: [draft], span: trace?.span, caller: call.responder.loop) { result in
                guard case .done(let posted) = result else {
                    if case .refused(let refusal) = result { call.send(Problem(refusal)) }
                    return
                }
                if posted.contains(where: { $0.disposition == .preconditionFailed }) {
                    return call.send(.preconditionFailed)
                }
                // A refused request has another span.
                trace?.end(200, posted.contains { $0.disposition == .accepted } ? [draft] : [], call)
                // What has not changed may be in the store only: another process has just set it.
                let isInMemory = !posted.contains { $0.disposition == .unchanged }
                call.attempt { () throws(Problem) in try respond(isInMemory) }
            })
    }
}

extension JSONObjectWriter {
    /// - Parameter status: `nil` if none is known.
    fileprivate mutating func members(of status: AuthStatus?, _ userID: String) {
        member("user_id", status?.userID ?? userID)
        member("status", status.map { $0.isLoggedIn ? "logged_in" : "logged_out" } ?? "unknown")
        member("user", status.map { RawJSON($0.user[...]) })
        member("since", status.map { Timestamp(milliseconds: $0.since) })
        member("event_id", status?.eventID)
    }

    /// - Parameter state: `nil` if none was set.
    fileprivate mutating func members(of state: AppState?) {
        member("state", state.map { RawJSON($0.state[...]) })
        member("since", state.map { Timestamp(milliseconds: $0.since) })
        member("event_id", state?.eventID)
    }
}
