import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Submits a change of the registry and sends the response; shared by all requests that change delegates.
struct RegistryChange: Sendable {
    let hub: Hub

    /// - Parameters:
    ///   - backlog: of a delegate that is registered, if it starts before the end of the log.
    ///   - updated: the response for a changed delegate, if it is not the delegate itself.
    func make(
        _ call: Call, _ action: RegistryWrite.Action, showing secret: SigningSecret? = nil, _ backlog: Backlog? = nil,
        updated: (@Sendable (WebhookDelegate) -> Response)? = nil
    ) throws(Problem) {
        try submit(call, action) { answer(to: call, $0, secret, backlog, updated) }
    }

    /// A POST may have an idempotency key.
    func submit(
        _ call: Call, _ action: RegistryWrite.Action,
        _ response: @escaping @Sendable (RegistryWrite.Outcome) -> Response
    ) throws(Problem) {
        let idempotency: Idempotency<RegistryWrite.Outcome>? = try call.idempotency(hasSecret: true, response)
        call.begin(hub)?.submit(
            RegistryWrite(app: call.app, action: action, provenance: call.provenance, idempotency: idempotency) {
                result in
                call.send(result, response)
            })
    }

    /// Changes the delegate of the path, in the version of `If-Match`.
    func update(
        _ call: Call, _ change: @escaping DelegateInput.Change,
        updated: (@Sendable (WebhookDelegate) -> Response)? = nil
    ) throws(Problem) {
        try make(
            call, .update(id: call.parameters[0], ifVersion: call.versions(), change: change), updated: updated)
    }

    private func answer(
        to call: Call, _ outcome: RegistryWrite.Outcome, _ secret: SigningSecret?, _ backlog: Backlog?,
        _ updated: (@Sendable (WebhookDelegate) -> Response)?
    ) -> Response {
        do throws(HubError) {
            let delegates = try outcome.webhooks(call.parameters.first ?? "")
            if case .removed = outcome { return removed(delegates, call) }
            // One that was registered, changed, or is there already.
            let delegate = delegates[0]
            switch outcome {
            case .registered:
                return resource(
                    delegate, status: 201, secret: secret?.text, backlog,
                    [.init("Location", "/v1/delegates/\(delegate.id)")])
            case .updated: return updated?(delegate) ?? resource(delegate)
            default: return resource(delegate)
            }
        } catch {
            return call.response(to: Problem(error))
        }
    }

    private func removed(_ delegates: [WebhookDelegate], _ call: Call) -> Response {
        call.parameters.isEmpty ? .json { $0.member("deleted", delegates.count) } : Response(status: 204)
    }

    func resource(
        _ delegate: WebhookDelegate, status: Int = 200, secret: String? = nil, _ backlog: Backlog? = nil,
        _ headers: [Response.Field] = []
    ) -> Response {
        .resource(version: delegate.version, status: status, headers) {
            $0.members(of: delegate, in: hub, backlog, secret: secret, isNew: status == 201)
        }
    }
}

extension Call {
    /// The versions that a delegate, an app or an event type may have; 0 for one that does not exist, `nil` for any.
    func versions() -> Set<Int64>? {
        versions(absent: "0").map { Set($0.compactMap { Int64($0) }) }
    }
}
