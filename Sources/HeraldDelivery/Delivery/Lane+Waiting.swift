import HeraldModel

/// Events of types that the receiver refuses, and what is shown of events that wait.
extension Lane {
    /// How long a delivery may wait for a retry, in milliseconds: two days, or as long as the schedule says.
    var longestDelay: Int64 {
        let longest = (delegate.settings.retrySchedule.max() ?? 0) * RetrySchedule.maxJitter
        return max(172_800_000, Int64(longest * 1_000))
    }

    /// Queues a requested delivery. The request that ends a pause early is made for this delivery.
    /// - Parameter now: monotonic nanoseconds.
    func holdRequested(_ retry: Retry, now: Int64) {
        guard flow.endPause(now: now) else { return waiting.hold(retry) }
        turns.retryIsNext()
        waiting.holdFirst(retry)
    }

    /// Whether to announce that the receiver refuses a type: not more than once in ten minutes, whatever the types.
    func mayAnnounceRefusal(of type: String, now: Int64) -> Bool {
        guard flow.refused.contains(type), now >= nextAnnouncement, !ServiceFamily.isOne(type) else { return false }
        nextAnnouncement = now + 600_000_000_000
        return true
    }

    /// Whether other retries have to come first: the row of a loaded one does not contain its type.
    func mustPutBack(_ event: Event, _ retry: Retry, now: Int64) -> Bool {
        guard rows[retry.event]?.isRefused == false else { return false }
        return isFailing ? flow.refused.contains(event.type) : flow.refuses(event.type, now: now)
    }

    /// Whether the delegate's current settings still call for a delivery that has its own row.
    func stillWants(_ event: Event, _ sequence: LogPosition, _ view: () -> EventView) -> Bool {
        rows[sequence]?.isNamed == true || delegate.selection.matches(event, view)
    }

    /// Whether a new event has to wait in a row although the lane may start an attempt.
    func mustPostpone(_ event: Event, now: Int64) -> Bool {
        ordering != .strict && !mayTryRefused && flow.refuses(event.type, now: now)
    }

    /// Whether a probe with another event says more about the receiver.
    func isDoubtfulProbe(_ event: Event) -> Bool {
        isFailing && ordering != .strict && flow.isDoubtful(event.type)
    }

    /// The subject with the most deliveries that wait for an earlier one.
    var blockedSubject: String? { ordering == .subject ? waiting.blockedSubject : nil }

    /// The reason that due deliveries do not start, apart from the limits of flow control.
    /// - Parameter blockedSubject: which takes a time for each of up to 50,000 subjects.
    func heldBack(_ blockedSubject: String?) -> FlowStatus.Reason? {
        guard isActive else { return nil }
        if next != nil, waiting.isFull { return .waiting }
        if ordering == .strict { return next != nil && !mayTakeNewEvent ? .ordering : nil }
        return blockedSubject == nil ? nil : .ordering
    }

    /// Events of refused types get a quarter of the open requests, so that those with late responses delay no
    /// others.
    var mayTryRefused: Bool {
        refusedInFlight < max(1, min(flow.concurrency.limit, limits.maxInFlight) / 4)
    }
}
