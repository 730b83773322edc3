import HeraldCore
import HeraldCrypto
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Actions on a webhook other than changes of its settings.
struct DelegateActionEndpoints: Sendable {
    let hub: Hub
    let waits: ReceiverWaits

    var routes: [Route] {
        [
            Route(.post, "/v1/delegates/{id}/pause", needs: .manage, pause),
            Route(.post, "/v1/delegates/{id}/resume", needs: .manage, resume),
            Route(.post, "/v1/delegates/{id}/renew", needs: .manage, renew),
            Route(.post, "/v1/delegates/{id}/secret/rotate", needs: .manage, rotateSecret),
            Route(.post, "/v1/delegates/{id}/test", needs: .manage, takesQuery: true, test),
            Route(.post, "/v1/delegates/{id}/replay", needs: .manage, takesQuery: true, replay),
            Route(.get, "/v1/delegates/{id}/replays", needs: .read, takesQuery: true, replays),
            Route(.delete, "/v1/delegates/{id}/replays/{replay}", needs: .manage, endReplay),
        ]
    }

    private var registry: RegistryChange { RegistryChange(hub: hub) }

    // MARK: Status and lease

    private func pause(_ call: Call) throws(Problem) { try apply(.paused, call) }
    private func resume(_ call: Call) throws(Problem) { try apply(.resumed, call) }

    private func renew(_ call: Call) throws(Problem) {
        try apply(.leaseRenewed, call) { delegate in
            delegate.settings.leaseSeconds == nil
                ? call.response(to: .noLease(delegate.id)) : registry.resource(delegate)
        }
    }

    private func apply(
        _ cause: DelegateLifecycle.Cause, _ call: Call, answer: (@Sendable (WebhookDelegate) -> Response)? = nil
    ) throws(Problem) {
        try call.noBody()
        try registry.update(call, { state, now in state.apply(cause, now: now) }, updated: answer)
    }

    // MARK: Secrets

    private func rotateSecret(_ call: Call) throws(Problem) {
        let rotation = try SecretRotation(call.optionalJSON())
        try problem { () throws(HubError) in
            // One that is not there is reported with the change, as always.
            guard hub.committed.registry.delegate(call.app, id: call.parameters[0]) != nil else { return }
            _ = try hub.webhook(call.parameters[0], of: call.app, for: .rotateSecret)
        }
        try registry.update(
            call, { state, now throws(FieldErrors) in try rotation.rotate(&state, now: now) },
            updated: Self.showSecret)
    }

    /// The new secret, which is returned only once.
    private static func showSecret(of delegate: WebhookDelegate) -> Response {
        .resource(version: delegate.version) {
            $0.member("secret", delegate.newestSecret?.text)
            $0.member("signature", delegate.newestSecret?.scheme.rawValue)
            $0.member("public_key", delegate.newestSecret?.publicKey)
            let previous = delegate.state.secrets.dropFirst().compactMap(\.expiresAt).max()
            $0.member("previous_expires_at", previous.map { Timestamp(milliseconds: $0) })
        }
    }

    // MARK: Calls

    private func test(_ call: Call) throws(Problem) {
        let sample = try SampleEvent(call)
        try call.noBody()
        let delegate = try problem { () throws(HubError) in
            try hub.testableWebhook(call.parameters[0], of: call.app)
        }
        let response: @Sendable (CallbackOutcome) -> Response = { outcome in .json { $0.members(of: outcome) } }
        if case .any = sample { return try call.test(delegate, nil, hub, waits, response: response) }
        try call.answer(from: hub) { reader in
            try call.test(delegate, sample.event(call.app, hub, reader), hub, waits, response: response)
        }
    }

    // MARK: Replays

    private func replay(_ call: Call) throws(Problem) {
        let isDryRun = try call.query("dry_run").flag("dry_run")
        let input = try ReplayInput(call.json())
        let delegate = try call.webhook(in: hub, for: .replay)
        try call.answer(from: hub) { reader in
            let plan = try input.plan.action(for: delegate, isDryRun: isDryRun, hub, reader)
            if isDryRun { return call.send(input.response(plan.backlog, isDryRun: true)) }
            let answer = input.answer(to: call, delegate, plan.backlog)
            let idempotency: Idempotency<DeliveryWrite.Outcome>? = try call.idempotency(answer)
            call.submit(plan.action, to: hub, idempotency: idempotency, answer)
        }
    }

    /// The replays that have not ended, oldest first.
    private func replays(_ call: Call) throws(Problem) {
        let query = try call.query("limit", "cursor")
        let limit = try query.limit()
        let cursor = try call.cursor(query, .replay) ?? 0
        let delegate = try call.webhook(in: hub)
        try call.answer(from: hub) { reader in
            let counter = BacklogCounter(hub, reader)
            let found = try reader.replays(delegate.key).filter { $0.id > cursor }.prefix(limit + 1)
            let progress = try found.map { try ReplayProgress($0, delegate, hub, counter) }
            call.send(page: progress, query, limit: limit, cursor: { call.sealed($0.replay.id, .replay) }) {
                $1.members(of: $0, call.seal, call.app)
            }
        }
    }

    private func endReplay(_ call: Call) throws(Problem) {
        try call.noBody()
        let delegate = try call.webhook(in: hub)
        guard let id = call.seal.number(call.parameters[1], .replay, of: call.app) else {
            throw .notFound("There is no replay with the id \(call.parameters[1]).")
        }
        call.submit(.endReplay(delegateID: delegate.id, replay: id), to: hub, idempotency: nil) { outcome in
            call.response(to: outcome) { _ in Response(status: 204) }
        }
    }
}
