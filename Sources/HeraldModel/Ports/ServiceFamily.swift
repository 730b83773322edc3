import HeraldJSON

/// The family `herald.*`: events that only the service posts. Delegates have to name them: `*` does not match them, so
/// that a delegate does not get its own failures unexpectedly.
package enum ServiceFamily {
    /// The type of a test call; never in the log.
    package static let test = "herald.test"
    /// The type of a verification challenge; never in the log.
    package static let verification = "herald.verification"

    package static func isOne(_ type: String) -> Bool { EventType.Family(of: type) == .service }

    /// `nil` if the notice is not announced.
    private static func eventType(_ notice: DeliveryNotice.Kind) -> String? {
        switch notice {
        case .failing: "herald.delegate.failing"
        case .recovered: "herald.delegate.recovered"
        case .refusing: "herald.delegate.refusing"
        case .disabled: "herald.delegate.disabled"
        case .gone: "herald.delegate.gone"
        case .leaseEnded: "herald.delegate.expired"
        case .exhausted: "herald.delivery.exhausted"
        case .fellBehind: "herald.delivery.dropped"
        case .verified, .notVerified: nil
        }
    }

    /// The event that announces a notice; `nil` if it is not announced. The subject is the delegate's id.
    /// - Parameters:
    ///   - delegate: as it was before the notice.
    ///   - makeID: called if there is an event.
    package static func event(
        _ notice: DeliveryNotice.Kind, _ delegate: WebhookDelegate, time: Int64, makeID: () -> String
    ) -> Event? {
        guard let type = eventType(notice) else { return nil }
        var attributes: [KeyValue] = []
        let data = JSONWriter.document(capacity: 256) {
            $0.member("delegate", delegate.id)
            if let url = delegate.settings.shownURL { $0.member("url", url) }
            switch notice {
            case .failing(let since, let reason):
                $0.member("since", .timestamp(since))
                $0.member("reason", reason)
            case .recovered:
                $0.member("failing_since", delegate.state.failingSince.map { Timestamp(milliseconds: $0) })
            case .refusing(let type, let reason):
                $0.member("event_type", type)
                $0.member("reason", reason)
            case .disabled(let reason): $0.member("reason", reason)
            case .gone, .verified, .notVerified: break
            case .leaseEnded: $0.member("expired_at", delegate.state.expiresAt.map { Timestamp(milliseconds: $0) })
            case .exhausted(_, let id, let type, let attempts, let traceParent):
                $0.member("event", id)
                $0.member("event_type", type)
                $0.member("attempts", attempts)
                // Recipients can find the cause.
                if let traceParent { attributes = [KeyValue(TraceParent.name, traceParent)] }
            case .fellBehind(let events, let total):
                $0.member("events_at_most", events)
                $0.member("total_at_most", total)
            }
        }
        return Event(
            app: delegate.app, id: makeID(), type: type, subject: delegate.id, time: time, attributes: attributes,
            data: data)
    }
}
