import HeraldCore
import HeraldJSON
import HeraldModel

extension JSONObjectWriter {
    mutating func members(of row: DeliveryRow) {
        member("delegate", row.delegateID)
        member("url", row.delegate?.settings.url)
        member("description", row.delegate?.settings.description)
        member("event", row.event?.id)
        member("type", row.event?.type)
        member("subject", row.event?.subject)
        member("state", row.state.rawValue)
        member("reason", row.reason)
        member("attempts", row.attempts)
        member("replay", row.isReplay)
        member("next_attempt_at", row.nextAttemptAt.map { Timestamp(milliseconds: $0) })
        member("ended_at", row.endedAt.map { Timestamp(milliseconds: $0) })
        members(ofLast: row.lastAttempt)
    }

    private mutating func members(ofLast attempt: AttemptRecord?) {
        member("last_attempt_at", attempt.map { Timestamp(milliseconds: $0.startedAt) })
        member("status_code", attempt?.status)
        member("error", attempt?.failure?.rawValue)
    }

    mutating func members(of counts: DeliveryCounts, _ state: DeliveryState, next: String?) {
        member("state", state.rawValue)
        member("deliveries", counts.deliveries)
        member("delegates", counts.delegates)
        array("data", of: counts.entries) { entry, json in
            json.member("delegate", entry.delegate.id)
            json.member("url", entry.delegate.settings.url)
            json.member("description", entry.delegate.settings.description)
            json.member("deliveries", entry.deliveries)
            json.member("event", entry.newest?.id)
            json.member("type", entry.newest?.type)
            json.members(ofLast: entry.lastAttempt)
        }
        member("next_cursor", next)
    }

    mutating func members(of delivery: DeliveryStory, event: Event, _ seal: NumberSeal) {
        let last = delivery.attempts.last?.record
        member("delegate", delivery.delegateID)
        member("url", delivery.url)
        member("description", delivery.description)
        member("state", delivery.state.rawValue)
        member("reason", delivery.reason)
        member("attempts", delivery.attempts.count)
        member("first_attempt_at", delivery.attempts.first.map { Timestamp(milliseconds: $0.record.startedAt) })
        member("last_attempt_at", last.map { Timestamp(milliseconds: $0.startedAt) })
        member("next_attempt_at", delivery.nextAttemptAt.map { Timestamp(milliseconds: $0) })
        member("status_code", last?.status)
        member("error", last?.failure?.rawValue)
        array("history", of: delivery.attempts) { attempt, json in
            json.members(of: attempt, id: seal.id(of: attempt, app: event.app), eventID: event.id)
        }
    }
}
