import Herald
import JSON

extension JSONObjectWriter {
    /// The answer to a post: the event without its data.
    mutating func head(of event: Event) {
        member("id", event.id)
        member("type", event.type)
        member("subject", event.subject)
        member("time", .timestamp(event.time))
    }

    mutating func members(of event: Event) {
        head(of: event)
        member("data", .raw(event.data))
    }

    mutating func members(of delivery: DeliveryStory) {
        member("delegate", delivery.delegateID)
        member("url", delivery.url)
        member("state", delivery.state.rawValue)
        member("reason", delivery.reason)
        member("attempts", delivery.attempts)
        member("first_attempt_at", delivery.firstAttemptAt.map { Timestamp(milliseconds: $0) })
        member("last_attempt_at", delivery.lastAttempt.map { Timestamp(milliseconds: $0.startedAt) })
        member("next_attempt_at", delivery.nextAttemptAt.map { Timestamp(milliseconds: $0) })
        member("status_code", delivery.lastAttempt?.status)
        member("error", delivery.lastAttempt?.failure?.rawValue)
    }

    mutating func members(of attempt: StoredAttempt, eventID: String?) {
        let record = attempt.record
        member("id", ULIDGenerator.text("att_", time: record.startedAt, high: 0, low: UInt64(attempt.id)))
        member("event", eventID)
        member("attempt", record.number)
        member("outcome", record.succeeded ? "succeeded" : "failed")
        member("started_at", .timestamp(record.startedAt))
        member("duration_ms", Double(record.duration) / 1000)
        member("status_code", record.status)
        member("error", record.failure?.rawValue)
        member("detail", hint(record))
        member("response_excerpt", String(decoding: record.excerpt, as: UTF8.self))
    }

    /// Why it failed, in words.
    private func hint(_ record: AttemptRecord) -> String? {
        if !record.detail.isEmpty { return record.detail }
        switch record.status {
        case .some(300...399): return "redirects are never followed; register the address that answers"
        case .some(410): return "the receiver says that this address is gone"
        case .some(let status) where !(200...299).contains(status): return "only a status from 200 to 299 is a success"
        default: return nil
        }
    }
}
