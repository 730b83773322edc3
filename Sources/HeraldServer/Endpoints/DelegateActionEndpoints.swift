import Crypto
import HTTPServer
import Herald
import JSON

/// What can be done with a webhook beside changing its settings.
struct DelegateActionEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.post, "/v1/delegates/{id}/pause", needs: .manage, pause),
            Route(.post, "/v1/delegates/{id}/resume", needs: .manage, resume),
            Route(.post, "/v1/delegates/{id}/renew", needs: .manage, renew),
            Route(.post, "/v1/delegates/{id}/secret/rotate", needs: .manage, rotateSecret),
            Route(.post, "/v1/delegates/{id}/test", needs: .manage, test),
            Route(.post, "/v1/delegates/{id}/replay", needs: .manage, replay),
        ]
    }

    private var registry: RegistryChange { RegistryChange(hub: hub) }

    // MARK: Status and lease

    private func pause(_ call: Call) throws(Problem) {
        try change(call) { state, _ in
            state.status = .paused
            state.statusReason = nil
        }
    }

    /// Whatever held it back is forgotten. One that has to be verified shows again that it wants the callbacks: nothing
    /// else could tell whether it has.
    private func resume(_ call: Call) throws(Problem) {
        try change(call) { state, _ in
            if state.status != .active {
                state.status = state.settings.verification == .none ? .active : .pendingVerification
            }
            state.statusReason = nil
            state.failingSince = nil
        }
    }

    private func renew(_ call: Call) throws(Problem) {
        try change(call) { state, now in
            state.renewLease(now: now)
        } answer: { delegate in
            delegate.settings.leaseSeconds == nil
                ? Problem.noLease(delegate).response(requestID: call.requestID) : registry.resource(delegate)
        }
    }

    private func change(
        _ call: Call, _ change: @escaping DelegateInput.Change,
        answer: (@Sendable (WebhookDelegate) -> Response)? = nil
    ) throws(Problem) {
        _ = try call.query()
        try call.noBody()
        try registry.update(call, change, updated: answer)
    }

    // MARK: Secrets

    private func rotateSecret(_ call: Call) throws(Problem) {
        _ = try call.query()
        let rotation = try SecretRotation(call.optionalJSON())
        try registry.update(
            call, { state, now throws(RegistryWrite.InvalidSettings) in try rotation.rotate(&state, now: now) },
            updated: Self.showSecret)
    }

    /// The new secret, this once.
    private static func showSecret(of delegate: WebhookDelegate) -> Response {
        var json = JSONWriter()
        json.object {
            $0.member("secret", delegate.newestSecret?.text)
            $0.member("signature", delegate.newestSecret?.scheme.rawValue)
            $0.member("public_key", delegate.newestSecret?.publicKey?.text)
            let previous = delegate.state.secrets.dropFirst().compactMap(\.expiresAt).max()
            $0.member("previous_expires_at", previous.map { Timestamp(milliseconds: $0) })
        }
        return Response(
            status: 200,
            headers: [.init("Content-Type", "application/json"), .init("ETag", "\"\(delegate.version)\"")],
            body: json.bytes)
    }

    // MARK: Calls

    private func test(_ call: Call) throws(Problem) {
        _ = try call.query()
        try call.noBody()
        let delegate = try webhook(call)
        // The handshake or the challenge is the only thing that an address gets before its owner has agreed.
        if delegate.status == .pendingVerification { throw .unverified(delegate.id) }
        hub.administer(
            AccessWrite(app: call.app, action: .note(target: delegate.id), provenance: call.provenance) { result in
                if case .refused(let refusal) = result { return call.send(Problem(refusal)) }
                hub.test(delegate) { outcome in
                    if let outcome { return call.send { $0.members(of: outcome) } }
                    // It is gone, or too many wait.
                    let isThere = hub.registry.delegate(call.app, id: delegate.id) != nil
                    call.send(isThere ? .tooManyCalls : .noWebhook(delegate.id))
                }
            })
    }

    private func webhook(_ call: Call) throws(Problem) -> WebhookDelegate {
        let id = call.parameters[0]
        guard let delegate = hub.registry.delegate(call.app, id: id) else { throw .noWebhook(id) }
        return delegate
    }

    // MARK: Replays

    private func replay(_ call: Call) throws(Problem) {
        _ = try call.query()
        let input = try ReplayInput(call.json())
        let delegate = try webhook(call)
        let answer = input.answer(to: call, delegate, hub.usage)
        let idempotency: Idempotency<DeliveryWrite.Outcome>? = try call.idempotency(answer)
        try call.answer(from: hub) { reader in
            guard let action = try input.action(for: delegate, reader, head: hub.head) else {
                return call.send(answer(.count(0)))
            }
            hub.manage(
                DeliveryWrite(
                    app: call.app, action: action, provenance: call.provenance, idempotency: idempotency
                ) { call.send($0, answer) })
        }
    }
}
