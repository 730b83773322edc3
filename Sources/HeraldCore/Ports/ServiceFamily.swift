import HeraldJSON

/// The family `herald.*`: events that only the service posts. Delegates have to name them: `*` does not match them, so
/// that a delegate does not get its own failures unexpectedly.
enum ServiceFamily {
    /// A notice that becomes an event.
    enum Announcement {
        case failing(since: Int64, reason: String)
        case recovered(failingSince: Int64?)
        case refusing(eventType: String, reason: String)
        case disabled(reason: String)
        case gone
        case expired(_ at: Int64)
        /// `traceParent`: the trace of the event, so that recipients can find the cause.
        case exhausted(eventID: String, eventType: String, attempts: Int, traceParent: String?)
        case dropped(events: Int, total: Int)

        /// `nil` if the notice is not announced.
        init?(_ kind: DeliveryNotice.Kind, _ delegate: WebhookDelegate) {
            switch kind {
            case .failing(let since, let reason): self = .failing(since: since, reason: reason)
            case .recovered: self = .recovered(failingSince: delegate.state.failingSince)
            case .refusing(let type, let reason): self = .refusing(eventType: type, reason: reason)
            case .disabled(let reason): self = .disabled(reason: reason)
            case .gone: self = .gone
            case .exhausted(_, let id, let type, let attempts, let traceParent):
                self = .exhausted(eventID: id, eventType: type, attempts: attempts, traceParent: traceParent)
            case .fellBehind(let events, let total): self = .dropped(events: events, total: total)
            case .leaseEnded, .verified, .notVerified: return nil
            }
        }

        fileprivate var attributes: [KeyValue] {
            guard case .exhausted(_, _, _, let traceParent?) = self else { return [] }
            return [KeyValue("traceparent", traceParent)]
        }

        fileprivate var type: String {
            switch self {
            case .failing: "herald.delegate.failing"
            case .recovered: "herald.delegate.recovered"
            case .refusing: "herald.delegate.refusing"
            case .disabled: "herald.delegate.disabled"
            case .gone: "herald.delegate.gone"
            case .expired: "herald.delegate.expired"
            case .exhausted: "herald.delivery.exhausted"
            case .dropped: "herald.delivery.dropped"
            }
        }
    }

    /// The type of a test call; never in the log.
    static let test = "herald.test"
    /// The type of a verification challenge; never in the log.
    static let verification = "herald.verification"

    static func isOne(_ type: String) -> Bool { EventType.Family(of: type) == .service }

    /// The subject is the delegate's id.
    static func event(
        _ announcement: Announcement, _ delegate: WebhookDelegate, id: String, time: Int64
    ) -> Event {
        var json = JSONWriter(capacity: 256)
        json.object {
            $0.member("delegate", delegate.id)
            if let url = delegate.settings.shownURL { $0.member("url", url) }
            switch announcement {
            case .failing(let since, let reason):
                $0.member("since", .timestamp(since))
                $0.member("reason", reason)
            case .recovered(let since): $0.member("failing_since", since.map { Timestamp(milliseconds: $0) })
            case .refusing(let type, let reason):
                $0.member("event_type", type)
                $0.member("reason", reason)
            case .disabled(let reason): $0.member("reason", reason)
            case .gone: break
            case .expired(let time): $0.member("expired_at", .timestamp(time))
            case .exhausted(let id, let type, let attempts, _):
                $0.member("event", id)
                $0.member("event_type", type)
                $0.member("attempts", attempts)
            case .dropped(let events, let total):
                $0.member("events_at_most", events)
                $0.member("total_at_most", total)
            }
        }
        return Event(
            app: delegate.app, id: id, type: announcement.type, subject: delegate.id, time: time,
            attributes: announcement.attributes, data: json.bytes)
    }
}
