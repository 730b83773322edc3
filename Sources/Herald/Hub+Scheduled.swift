public import FoundationEssentials
public import HeraldCore
public import HeraldModel
import HeraldRuntime

/// An event that is published later.
public struct ScheduledEvent: Sendable {
    /// The event, with its id. Its data is `null` if the database has damaged it: then it is not published.
    public let event: Event
    /// When it is published.
    public let date: Date

    init(_ pending: PendingEvent) {
        event = pending.event.isDamaged ? pending.event.withoutData : pending.event
        date = Date(milliseconds: pending.dueAt)
    }
}

extension PublishedEvent {
    /// When a scheduled event is published; `nil` for an event of the log.
    public var scheduledDate: Date? { deliverAt.map { Date(milliseconds: $0) } }
}

/// Scheduled events: those that were published with a ``NewEvent/deliveryDate``, until then.
extension Hub {
    /// The scheduled events, the earliest first.
    /// - Parameters:
    ///   - subject: only events with exactly this subject.
    ///   - limit: the maximum number of entries, 1 to 500. A page has fewer if they take much memory.
    ///   - cursor: continues behind an earlier page.
    /// - Throws: `HubError.invalid`, or that the hub can't read.
    public func scheduledEvents(
        about subject: String? = nil, limit: Int = 100, after cursor: ListCursor? = nil
    ) async throws(HubError) -> ListPage<ScheduledEvent> {
        try ListCursor.check(limit)
        var query = PendingQuery(app: .default, limit: limit + 1, maxBytes: maxListBytes)
        query.subject = subject
        if let cursor {
            guard case .scheduled(let dueAt, let key) = cursor.place else { throw ListCursor.wrong() }
            query.after = PendingQuery.Position(dueAt: dueAt, key: key)
        }
        return try await reading { [query, maxListBytes] reader in
            let found = try reader.pending(query)
            let bytes = found.reduce(0) { $0 + $1.event.storedBytes }
            let shown = found.prefix(limit)
            let next = found.count > limit || bytes >= maxListBytes ? shown.last : nil
            return ListPage(
                elements: shown.map(ScheduledEvent.init),
                next: next.map { ListCursor(place: .scheduled(dueAt: $0.dueAt, key: $0.key)) })
        }
    }

    /// Changes when a scheduled event is published.
    /// - Parameters:
    ///   - id: the id of the event.
    ///   - date: at most 366 days ahead. A time in the past publishes it at once.
    /// - Throws: `HubError.notFound`, `.alreadyPublished` if it is in the log, `.invalid`, or that the hub can't write.
    @discardableResult
    public func reschedule(_ id: String, to date: Date) async throws(HubError) -> ScheduledEvent {
        // All times in the past mean now, and the event gets this time if it brought none.
        let time = max(0, date.milliseconds)
        guard time <= clock.wall() + PublicationLimits.maxDelay else {
            throw .invalid([FieldError("/deliver_at", PublicationLimits.delayWords)])
        }
        guard case .moved(let pending) = try await manage(scheduled: id, .move(to: time)) else {
            // Any other outcome was thrown.
            throw .notFound("There is no scheduled event with the id \(id).")
        }
        return ScheduledEvent(pending)
    }

    /// Cancels a scheduled event: it is not published.
    /// - Throws: `HubError.notFound`, `.alreadyPublished` if it is in the log, or that the hub can't write.
    public func cancelScheduledEvent(_ id: String) async throws(HubError) {
        _ = try await manage(scheduled: id, .cancel)
    }
}
