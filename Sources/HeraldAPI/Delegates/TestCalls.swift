import HeraldCore
import HeraldHTTP
import HeraldModel

extension Call {
    /// Makes a test call: a webhook is called once, outside its lane, and the audit log says who requested it.
    /// - Parameters:
    ///   - event: `nil` for one of the type `herald.test`.
    ///   - response: that of the outcome; on a loop's thread, must not wait.
    func test(
        _ delegate: WebhookDelegate, _ event: Event?, _ hub: Hub, _ waits: ReceiverWaits,
        response: @escaping @Sendable (CallbackOutcome) -> Response
    ) throws(Problem) {
        guard let wait = waits.begin(for: app) else { throw .tooManyCalls }
        begin(hub)?.submit(
            AccessWrite(app: app, action: .record(target: delegate.id), provenance: provenance) { [self] result in
                if case .refused(let refusal) = result { return send(Problem(refusal)) }
                hub.test(delegate, event) { [self] outcome in
                    defer { withExtendedLifetime(wait) {} }
                    if let outcome { return send(response(outcome)) }
                    // It was deleted, there is no room for the call, or a stop has broken it off.
                    let isThere = hub.committed.registry.delegate(app, id: delegate.id) != nil
                    send(isThere ? .noOutcome(isStopping: hub.isStopping) : .noDelegate(delegate.id))
                }
            })
    }
}
