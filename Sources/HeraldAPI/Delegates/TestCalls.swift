import HeraldCore
import HeraldHTTP
import HeraldModel

/// Test calls: a webhook is called once, outside its lane, and the audit log says who requested it.
struct TestCalls: Sendable {
    let hub: Hub
    let waits: ReceiverWaits

    /// - Parameters:
    ///   - event: `nil` for one of the type `herald.test`.
    ///   - response: that of the outcome; on a loop's thread, must not wait.
    func make(
        _ event: Event?, to delegate: WebhookDelegate, _ call: Call,
        response: @escaping @Sendable (CallbackOutcome) -> Response
    ) throws(Problem) {
        guard let wait = waits.begin(for: call.app) else { throw .tooManyCalls }
        hub.submit(
            AccessWrite(app: call.app, action: .record(target: delegate.id), provenance: call.provenance) { result in
                if case .refused(let refusal) = result { return call.send(Problem(refusal)) }
                hub.test(delegate, event) { outcome in
                    defer { withExtendedLifetime(wait) {} }
                    if let outcome { return call.send(response(outcome)) }
                    // It was deleted, there is no room for the call, or a stop has broken it off.
                    let isThere = hub.committed.registry.delegate(call.app, id: delegate.id) != nil
                    call.send(isThere ? .noOutcome(isStopping: hub.isStopping) : .noDelegate(delegate.id))
                }
            })
    }
}
