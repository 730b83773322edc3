import Herald
import JSON

extension WebhookDelegate {
    /// What the API shows as `status`.
    func shownStatus(_ lane: LaneBoard.Entry?) -> String {
        status == .active && lane?.isFailing == true ? "failing" : status.rawValue
    }
}

extension JSONObjectWriter {
    /// - Parameter secret: shown once, in the answer to the registration.
    mutating func members(of delegate: WebhookDelegate, in hub: Hub, secret: String? = nil) {
        let lane = hub.lane(of: delegate.key)
        let settings = delegate.settings
        member("id", delegate.id)
        member("kind", "webhook")
        member("status", delegate.shownStatus(lane))
        member("status_reason", reason(delegate, lane))
        member("url", settings.url)
        member("events", settings.events.map(\.text))
        member("subjects", settings.subjects)
        member("description", settings.description)
        object("metadata") { for pair in settings.metadata { $0.member(pair.key, pair.value) } }
        member("header_names", settings.headers.map(\.key))
        member("max_in_flight", settings.maxInFlight)
        member("timeout_seconds", settings.timeoutSeconds)
        member("retry_schedule", settings.retrySchedule)
        member("secret", ifPresent: secret)
        object("lag") {
            $0.member("events", lane?.cursor.map { max(0, hub.head - $0) } ?? 0)
            $0.member("in_flight", lane?.inFlight ?? 0)
            $0.member("retrying", lane?.retrying ?? 0)
        }
        member("created_at", .timestamp(delegate.createdAt))
        member("updated_at", .timestamp(delegate.updatedAt))
    }

    private func reason(_ delegate: WebhookDelegate, _ lane: LaneBoard.Entry?) -> String? {
        if delegate.status == .paused { return "paused by request; nothing is lost until it is resumed" }
        if lane?.isFailing == true {
            return "several attempts in a row failed; one event at a time is tried until one succeeds"
        }
        return nil
    }

    mutating func members(of delegate: InMemoryDelegate) {
        member("id", delegate.id)
        member("kind", "in_memory")
        member("status", "active")
        member("status_reason", JSONNull())
        member("events", ["*"])
        member("description", delegate.description)
        member("created_at", .timestamp(delegate.createdAt))
    }
}
