import HeraldCore
import HeraldCrypto
import HeraldDelivery
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Endpoints are webhooks with the request recipe of `herald import svix`.
extension SvixEndpoints {
    var endpointRoutes: [Route] {
        [
            appRoute(.get, "/endpoint", .read, takesQuery: true, listEndpoints),
            appRoute(.post, "/endpoint", .manage) { call throws(Problem) in
                try create(call, SvixEndpointInput(call.json(), isNew: true, isWhole: true))
            },
            appRoute(.get, "/endpoint/{endpoint_id}", .read) { call throws(Problem) in
                let delegate = try endpoint(call)
                call.send { $0.svixMembers(of: delegate) }
            },
            appRoute(.put, "/endpoint/{endpoint_id}", .manage, putEndpoint),
            appRoute(.patch, "/endpoint/{endpoint_id}", .manage) { call throws(Problem) in
                try change(call, SvixEndpointInput(call.json(), isNew: false, isWhole: false), isWhole: false)
            },
            appRoute(.delete, "/endpoint/{endpoint_id}", .manage) { call throws(Problem) in
                try write(call, .remove(id: endpoint(call).id, ifVersion: nil)) { _ in Response(status: 204) }
            },
            // A secret is shown to operators only.
            appRoute(.get, "/endpoint/{endpoint_id}/secret", .admin) { call throws(Problem) in
                let delegate = try endpoint(call)
                call.send { $0.member("key", delegate.newestSecret?.text) }
            },
            appRoute(.post, "/endpoint/{endpoint_id}/secret/rotate", .manage, rotateSecret),
            appRoute(.get, "/endpoint/{endpoint_id}/headers", .read, showHeaders),
            appRoute(.put, "/endpoint/{endpoint_id}/headers", .manage) { call throws(Problem) in
                try setHeaders(call, replaces: true)
            },
            appRoute(.patch, "/endpoint/{endpoint_id}/headers", .manage) { call throws(Problem) in
                try setHeaders(call, replaces: false)
            },
            appRoute(.get, "/endpoint/{endpoint_id}/stats", .read, takesQuery: true, statistics),
            appRoute(.post, "/endpoint/{endpoint_id}/recover", .manage, recover),
        ]
    }

    /// The webhook with the first parameter as its id or `uid`.
    func endpoint(_ call: Call, at index: Int = 0) throws(Problem) -> WebhookDelegate {
        try endpoint(call.parameters[index], call)
    }

    /// The webhook with this id or `uid`.
    func endpoint(_ word: String, _ call: Call) throws(Problem) -> WebhookDelegate {
        if let delegate = hub.committed.registry.delegate(call.app, id: word), delegate.settings.kind == .webhook {
            return delegate
        }
        guard let found = hub.committed.registry.delegate(call.app, uid: word), found.settings.kind == .webhook else {
            throw .svixNotFound("endpoint", word)
        }
        return found
    }

    private func listEndpoints(_ call: Call) throws(Problem) {
        let page = try SvixPage(call.query(SvixPage.names), isAscending: false)
        try page.check { $0.isID("dlg_") }
        let all = Array(hub.committed.registry.list(call.app) { $0.settings.kind == .webhook }.reversed())
        let (shown, isDone) = page.page(of: all, id: \.id)
        call.send(shown, isDone: isDone, id: \.id) { $1.svixMembers(of: $0) }
    }

    private func create(_ call: Call, _ input: SvixEndpointInput) throws(Problem) {
        let read: DelegateInput.Registration
        do throws(Problem) {
            read = try DelegateInput.registration(input.document, hub.rules)
        } catch {
            throw error.svixRenamed(input.names)
        }
        var registration = RegistryWrite.Registration(settings: read.settings, secret: try read.key())
        registration.isOwnSecret = read.secret.brought != nil
        registration.isPaused = input.isDisabled == true
        registration.uid = input.uid
        try write(call, .register(registration), status: 201, names: input.names)
    }

    /// Changes the endpoint, or creates the one with this `uid`.
    private func putEndpoint(_ call: Call) throws(Problem) {
        if (try? endpoint(call)) != nil { return try replace(call) }
        let word = call.parameters[0]
        // The id of an endpoint that was deleted, or of another app, makes no endpoint.
        if word.hasPrefix("dlg_") { throw .svixNotFound("endpoint", word) }
        try call.afterLooking(hub) { () throws(Problem) in
            if (try? endpoint(call)) != nil { return try replace(call) }
            try create(call, SvixEndpointInput(call.json(), isNew: true, isWhole: true, uid: word))
        }
    }

    private func replace(_ call: Call) throws(Problem) {
        try change(call, SvixEndpointInput(call.json(), isNew: false, isWhole: true), isWhole: true)
    }

    private func change(_ call: Call, _ input: SvixEndpointInput, isWhole: Bool) throws(Problem) {
        let patch: DelegateInput.Change
        do throws(Problem) {
            patch = try DelegateInput.patch(input.document, hub.rules)
        } catch {
            throw error.svixRenamed(input.names)
        }
        let (app, id) = (call.app, try endpoint(call).id)
        try write(
            call,
            .update(id: id, ifVersion: nil) { [hub] state, now throws(FieldErrors) in
                if let uid = input.uid, let owner = hub.committed.registry.delegate(app, uid: uid), owner.id != id {
                    throw FieldErrors([Self.uidTaken])
                }
                if isWhole { state.settings.description = "" }
                if input.hasMetadata { state.settings.metadata.removeAll { $0.key != WebhookSettings.uidKey } }
                if input.hasChannels { try Self.select(input.channels, &state.settings) }
                try patch(&state, now)
                switch input.isDisabled ?? (isWhole ? false : nil) {
                case true?: state.apply(.paused, now: now)
                case false?: if state.status != .active { state.apply(.resumed, now: now) }
                case nil: break
                }
            }, names: input.names)
    }

    /// Sets the channels of an endpoint. Another filter stays, and is not combined with channels.
    private static func select(
        _ channels: [String]?, _ settings: inout WebhookSettings
    ) throws(FieldErrors) {
        if settings.filter != nil, SvixChannels.names(of: settings.filter) == nil {
            guard channels != nil else { return }
            throw FieldErrors([
                FieldError("/channels", "must be null: the delegate has a filter; add channels to it")
            ])
        }
        settings.filter = channels.flatMap { ContentFilter(text: SvixChannels.filter($0)) }
    }

    private static let uidTaken = FieldError("/uid", "belongs to another endpoint of the application")

    private func conflict(of outcome: RegistryWrite.Outcome, _ action: RegistryWrite.Action) -> Bool {
        switch (outcome, action) {
        case (.invalid(let errors), _): errors.contains { $0.pointer == "/uid" }
        case (.conflict(let owner), .register(let registration)):
            registration.uid != nil && owner.settings.uid == registration.uid
        default: false
        }
    }

    /// - Parameters:
    ///   - names: Svix's names of fields, for errors.
    ///   - makeResponse: the response, if it is not the endpoint.
    private func write(
        _ call: Call, _ action: RegistryWrite.Action, status: Int = 200,
        names: [String: String] = SvixEndpointInput.names,
        _ makeResponse: (@Sendable (WebhookDelegate) -> Response)? = nil
    ) throws(Problem) {
        try RegistryChange(hub: hub).submit(call, action) { outcome in
            if conflict(of: outcome, action) {
                return call.response(to: Problem(.conflict, status: 409, detail: "The uid \(Self.uidTaken.detail)."))
            }
            do throws(HubError) {
                let delegates = try outcome.webhooks(call.parameters.first ?? "")
                return makeResponse?(delegates[0])
                    ?? .json(status: status) { $0.svixMembers(of: delegates[0]) }
            } catch {
                return call.response(to: Problem(error).svixRenamed(names))
            }
        }
    }

    // MARK: Secret and headers

    private func rotateSecret(_ call: Call) throws(Problem) {
        let document = try call.optionalJSON()
        var reader = FieldReader(document, fields: ["key", "gracePeriodSeconds"])
        let overlap = reader.member("gracePeriodSeconds") { Int64($0.integer($1, $2, SecretRotation.overlaps)) }
        var brought: SigningSecret?
        if let value = document.nonNull("key"), let text = reader.text(value, "/key") {
            do throws(KeyTextError) {
                brought = try SigningSecret(standard: SecretText.prefixed(text))
            } catch {
                reader.wrong("/key", error.description)
            }
        }
        try reader.check()
        let rotation = SecretRotation(
            overlapSeconds: overlap ?? SecretRotation.defaultOverlap, brought, scheme: nil,
            newBytes: try SecretInput.newBytes())
        try write(
            call,
            .update(id: endpoint(call).id, ifVersion: nil) { state, now throws(FieldErrors) in
                try rotation.rotate(&state, now: now)
            }, names: ["/overlap_seconds": "/gracePeriodSeconds"]
        ) { delegate in
            // Older SDKs expect 204 and no body: they ignore both.
            .json { $0.member("key", delegate.newestSecret?.text) }
        }
    }

    /// The names of headers whose values Svix hides (`svix-server`, `v1/endpoints/endpoint/mod.rs`).
    private static let sensitive: Set<String> = [
        "x-auth-token", "x-api-key", "www-authenticate", "authorization", "proxy-authenticate", "proxy-authorization",
    ]

    /// Values may be secrets: another key than an operator's sees the names only.
    private func showHeaders(_ call: Call) throws(Problem) {
        let delegate = try endpoint(call)
        let showsValues = call.principal.scopes.allow(.admin)
        let hidden = delegate.settings.headers.filter { !showsValues || Self.sensitive.contains($0.key.lowercased()) }
        call.send { json in
            json.object("headers") { headers in
                for pair in delegate.settings.headers where !hidden.contains(pair) {
                    headers.member(pair.key, pair.value)
                }
            }
            json.member("sensitive", hidden.map(\.key))
        }
    }

    private func setHeaders(_ call: Call, replaces: Bool) throws(Problem) {
        let document = try call.json()
        var reader = FieldReader(document, fields: replaces ? ["headers"] : ["headers", "deleteHeaders"])
        if document["headers"]?.kind != .object { reader.wrong("/headers", "is required: an object of strings") }
        // The only removal that SDKs with types have: their values cannot be null.
        let names = document.nonNull("deleteHeaders")
        let removed = Set((names?.elements.map { $0 } ?? []).compactMap { $0.string?.lowercased() })
        if let names, names.kind != .array || names.elements.contains(where: { $0.kind != .string }) {
            reader.wrong("/deleteHeaders", "must be an array of names")
        }
        try reader.check()
        let json = JSONWriter.document { $0.member("headers", ifPresent: document["headers"]) }
        let patch = try DelegateInput.patch(JSONDocument(reading: json), hub.rules)
        try write(
            call,
            .update(id: endpoint(call).id, ifVersion: nil) { state, now throws(FieldErrors) in
                state.settings.headers.removeAll { replaces || removed.contains($0.key.lowercased()) }
                try patch(&state, now)
            }
        ) { _ in Response(status: 204) }
    }

    // MARK: Statistics and recovery

    private func statistics(_ call: Call) throws(Problem) {
        let query = try call.query("since", "until")
        let (since, until) = (try query.time("since"), try query.time("until"))
        guard since ?? .min <= until ?? .max else { throw .invalidParameter("until", DeliverySelection.isReversed) }
        let delegate = try endpoint(call)
        try call.answer(from: hub) { reader in
            let statistics = try DelegateStatistics(delegate, hub, reader)
            // Attempts are counted in slots: the first one may begin before.
            let start = (since ?? 0) / DeliveryStatistics.slot * DeliveryStatistics.slot
            let slots = try reader.statistics(delegate.key, since: start) + hub.currentStatistics(delegate.key)
            let counted = slots.filter { $0.start >= start && $0.start <= until ?? .max }
            call.send {
                $0.member("success", counted.reduce(0) { $0 + $1.delivered })
                $0.member("pending", statistics.backlog.events)
                $0.member("sending", statistics.lane?.inFlight ?? 0)
                $0.member("fail", counted.reduce(0) { $0 + $1.failed })
                $0.member("canceled", 0)
            }
        }
    }

    /// Sends again what has failed.
    private func recover(_ call: Call) throws(Problem) {
        let document = try call.json()
        var reader = FieldReader(document, fields: ["since", "until"])
        func time(_ name: String) -> Int64? {
            guard let value = document.nonNull(name) else { return nil }
            if value.timestamp == nil { reader.wrong("/" + name, "must be an RFC 3339 time") }
            return value.timestamp?.milliseconds
        }
        let (since, until) = (time("since"), time("until"))
        if document["since"] == nil { reader.wrong("/since", "is required") }
        if let since, let until, until < since { reader.wrong("/until", DeliverySelection.isReversed) }
        try reader.check()
        let plan = ReplayPlan(from: .time(since ?? 0), until: until.map { .time($0) } ?? .now, only: .failed)
        let delegate = try endpoint(call)
        let now = hub.clock.wall()
        let id = hub.ids.next("qtask_", time: now)
        let done: @Sendable (DeliveryWrite.Outcome) -> Response = { outcome in
            call.response(to: outcome) { _ in
                .json(status: 202) {
                    $0.member("id", id)
                    $0.member("status", "running")
                    $0.member("task", "endpoint.recover")
                    $0.member("updatedAt", .timestamp(now))
                }
            }
        }
        try call.answer(from: hub) { reader in
            let action = try plan.action(for: delegate, hub, reader).action
            call.submit(action, to: hub, idempotency: try call.idempotency(done), done)
        }
    }
}

extension JSONObjectWriter {
    mutating func svixMembers(of delegate: WebhookDelegate) {
        let settings = delegate.settings
        let pairs = settings.metadata
        let types = settings.events.contains(.any) ? nil : settings.events.map(\.text)
        member("id", delegate.id)
        member("uid", settings.uid)
        member("url", settings.url)
        member("version", 1)
        member("description", settings.description)
        // SDKs read one or the other, by their age.
        member("eventTypes", types)
        member("filterTypes", types)
        member("channels", SvixChannels.names(of: settings.filter))
        member("disabled", delegate.status != .active)
        let rate = settings.rateLimit.map { Int($0.rounded(.up)) }
        member("rateLimit", rate)
        member("throttleRate", rate)
        object("metadata") { metadata in
            for pair in pairs where pair.key != WebhookSettings.uidKey { metadata.member(pair.key, pair.value) }
        }
        member("createdAt", .timestamp(delegate.createdAt))
        member("updatedAt", .timestamp(delegate.updatedAt))
    }
}
