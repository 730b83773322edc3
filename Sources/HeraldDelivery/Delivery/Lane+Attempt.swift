import HeraldModel

/// Choosing the next attempt of a lane, and settling it.
extension Lane {
    /// The source of a lane's next attempt.
    enum Source: Equatable {
        case retry(Retry)
        /// The next event of the log.
        case log(LogPosition)
        /// The next event of its current replay.
        case replay(LogPosition)

        var sequence: LogPosition {
            switch self {
            case .retry(let retry): retry.event
            case .log(let sequence), .replay(let sequence): sequence
            }
        }
    }

    /// The source of an attempt.
    enum Origin: Equatable {
        case log
        case retry
        /// From the replay with this id.
        case replay(Int64)
    }

    /// The change of a delivery after an attempt.
    enum Settlement: Equatable {
        case delivered
        /// Retry after this many nanoseconds; the row records `attempts`.
        case retry(after: Int64, attempts: Int, turn: UInt32)
        case exhausted(attempts: Int, uncounted: Int)
        /// The receiver as a whole is failing: the delivery waits for a later probe, and the attempt used up no step of
        /// the schedule.
        case held
        /// The receiver or an operator has ended the delivery.
        case dropped(attempts: Int)
        /// The delivery was requested again during the attempt: its row keeps its own plan.
        case superseded
    }

    /// The facts about a finished attempt.
    struct End {
        let sequence: LogPosition
        let origin: Origin
        let subject: String?
        /// The event type.
        var type = ""
        /// Number of attempts before it.
        let attempts: Int
        let outcome: CallbackOutcome
        /// The event was erased, or the delivery cancelled, during the attempt.
        var isEnded = false
        /// The delivery was requested again during the attempt, and has its own row, which may be only in the store.
        var isRequested = false
        let start: FlowControl.Start
        /// Monotonic nanoseconds.
        let now: Int64
        /// Milliseconds since 1970 UTC.
        let wall: Int64
        /// In the range 0..<1, for the jitter.
        let random: Double
        /// Reserves a time for a probe of an app; see `ProbeCalendar`.
        var reserve: (Int64, AppKey) -> Int64 = { time, _ in time }
    }

    /// Decides what becomes of a delivery whose attempt has failed.
    func settlement(ofFailure end: End, _ change: Breaker.Change) -> Settlement {
        // A retry without a row was ended on request during its attempt. The store would never have the row of an erased event: a lane
        // with many rows could not load it again, and later deliveries would wait for it.
        let isDropped = end.isEnded || end.origin == .retry && rows[end.sequence] == nil
        if isDropped || isGone || end.outcome.control == .abortMessage && !end.isRequested {
            return giveUp(end, .dropped(attempts: end.attempts + 1))
        }
        let isFirst = end.origin == .log
        if end.origin != .retry, waiting.goesOn(end.sequence, isFirst: isFirst, subject: end.subject) {
            return .superseded
        }
        if end.isRequested {
            // The row of a retry is due. Another row that is only in the store is loaded when its subject is free.
            if end.origin == .retry { waiting.hold(end.sequence) } else { waiting.release(end.subject) }
            return .superseded
        }
        let row = rows[end.sequence]
        let attempts = end.attempts + 1
        let (uncounted, excused) = (row?.uncounted ?? 0, row?.excused ?? 0)
        if end.outcome.isRequestNotMade {
            return giveUp(end, .exhausted(attempts: attempts, uncounted: uncounted))
        }
        if end.outcome.isStale {
            return retry(
                end, after: 0, attempts: attempts, uncounted: uncounted + 1, excused: excused, isFresh: true)
        }
        let isRefused = flow.refuses(end.type, now: end.now)
        if change == .stayedOpen || change == .lost, !isRefused {
            if isPoison(end) { return giveUp(end, .exhausted(attempts: attempts, uncounted: uncounted + 1)) }
            waiting.keep(
                end.sequence, attempts: attempts, uncounted: uncounted + 1, isFirst: isFirst, subject: end.subject)
            waiting.hold(end.sequence)
            return .held
        }
        switch RetrySchedule.next(
            delegate.settings.retrySchedule, attempts: attempts - uncounted, excused: excused, after: end.outcome,
            random: end.random)
        {
        case .exhausted: return giveUp(end, .exhausted(attempts: attempts, uncounted: uncounted))
        case .excused(let delay):
            return retry(end, after: delay, attempts: attempts, uncounted: uncounted + 1, excused: excused + 1)
        case .retry(let delay):
            return retry(end, after: delay, attempts: attempts, uncounted: uncounted, excused: excused)
        }
    }

    func giveUp(_ end: End, _ settlement: Settlement) -> Settlement {
        waiting.remove(end.sequence)
        waiting.release(end.subject)
        return settlement
    }

    private func retry(
        _ end: End, after delay: Double, attempts: Int, uncounted: Int, excused: Int, isFresh: Bool = false
    ) -> Settlement {
        waiting.keep(
            end.sequence, attempts: attempts, uncounted: uncounted, excused: excused, isFresh: isFresh,
            isFirst: end.origin == .log, isRefused: flow.refuses(end.type, now: end.now), subject: end.subject)
        return .retry(after: Int64(delay * 1_000_000_000), attempts: attempts, turn: waiting.replan(end.sequence) ?? 0)
    }

    /// Whether this process has seen no other delivery fail for longer than the retry schedule lasts. It must not block the
    /// others for ever.
    private func isPoison(_ end: End) -> Bool {
        guard flow.breaker.isOneDelivery, end.outcome.meaning != .unreachable, let outage = flow.breaker.outage else {
            return false
        }
        let schedule = delegate.settings.retrySchedule.reduce(0, +)
        return Double(outage.seen(at: end.now)) >= schedule * 1_000
    }
}
