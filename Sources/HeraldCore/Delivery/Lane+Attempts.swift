import HeraldRuntime

/// Attempts begin and end.
extension Lane {
    /// Where an attempt came from.
    enum Origin: Equatable {
        case log
        case retry
        /// Of the replay with this id.
        case replay(Int64)
    }

    /// What becomes of a delivery after an attempt.
    enum Settlement: Equatable {
        case delivered
        /// Try again after so many nanoseconds; it counts as `attempts`.
        case retry(after: Int64, attempts: Int, turn: UInt32)
        case exhausted(attempts: Int)
        /// The delegate as a whole is failing: the delivery waits for a later probe with the attempts it had.
        case held
        /// It was ended by request, its receiver's or an operator's.
        case dropped(attempts: Int)
        /// It was asked for again while the attempt was under way: its row goes on by its own plan.
        case superseded
    }

    /// What is known of the end of an attempt.
    struct End {
        let sequence: LogPosition
        let origin: Origin
        let subject: String?
        /// How many were made before it.
        let attempts: Int
        let outcome: CallbackOutcome
        let start: FlowControl.Start
        /// Monotonic nanoseconds.
        let now: Int64
        /// Milliseconds since 1970 UTC.
        let wall: Int64
        /// Within 0..<1, for the jitter.
        let random: Double
        /// Finds a time for a probe; see `ProbeCalendar`.
        var reserve: (Int64) -> Int64 = { $0 }
    }

    /// An attempt starts.
    @discardableResult
    mutating func started(_ sequence: LogPosition, _ origin: Origin, now: Int64) -> FlowControl.Start {
        switch origin {
        case .log:
            inFlight.append(sequence)
            position = max(position, sequence)
            firstTries += 1
            replayIsNext = true
            probesBeforeNew = held.count + 1
        case .retry:
            waiting[sequence]?.isOpen = true
            retriesInFlight += 1
            firstTries = 0
            probesBeforeNew = max(0, probesBeforeNew - 1)
            held.removeFirst()
        case .replay:
            replays[0].started(sequence)
            firstTries += 1
            replayIsNext = false
            probesBeforeNew = held.count + 1
        }
        return flow.started(limits, now: now)
    }

    /// An attempt was not made after all; its delivery waits.
    /// - Returns: the turn of its row; `nil`: it has none any more, or one with a plan of its own.
    mutating func returned(
        _ sequence: LogPosition, _ origin: Origin, subject: String?, start: FlowControl.Start
    ) -> UInt32? {
        close(sequence, origin)
        flow.returned(start)
        defer { reorderWhenIdle() }
        if isGone { return nil }
        if origin == .retry, waiting[sequence] == nil {
            release(subject)
            return nil
        }
        if origin != .retry {
            if goesOn(sequence, origin, subject: subject) { return nil }
            waiting[sequence] = Waiting(
                attempts: 0, isReplay: origin != .log, isFirst: origin == .log, subject: subject)
        }
        return replan(sequence)
    }

    /// An attempt has ended.
    mutating func finished(_ end: End) -> (settlement: Settlement, breaker: Breaker.Change) {
        close(end.sequence, end.origin)
        defer { reorderWhenIdle() }
        if end.outcome.isSuccess {
            let change = flow.succeeded(end.start, limits, now: end.now)
            // A row that was made meanwhile asks for another delivery.
            if end.origin == .retry { waiting[end.sequence] = nil }
            release(end.subject)
            return (.delivered, change)
        }
        if end.outcome.isGone { return (drop(end), .none) }
        let change = flow.failed(
            end.start, end.sequence, isAlone: ordering == .strict, end.outcome, limits, now: end.now,
            wall: end.wall, random: end.random, reserve: end.reserve)
        if change == .opened { probesBeforeNew = 1 }
        return (settlement(ofFailure: end, change), change)
    }

    private mutating func settlement(ofFailure end: End, _ change: Breaker.Change) -> Settlement {
        // A retry without a row was ended by request while it was under way.
        let isDropped = end.origin == .retry && waiting[end.sequence] == nil
        if isDropped || isGone || end.outcome.control == .abortMessage { return drop(end) }
        if end.origin != .retry, goesOn(end.sequence, end.origin, subject: end.subject) { return .superseded }
        // One that was asked for again meanwhile has begun anew.
        let attempts = min(end.attempts, waiting[end.sequence]?.attempts ?? end.attempts)
        if change == .stayedOpen || change == .lost {
            if isPoison(end) { return exhaust(end, attempts: attempts + 1) }
            keepRow(end, attempts: attempts)
            if let retry = row(end.sequence) { held.append(retry) }
            return .held
        }
        let excused = waiting[end.sequence]?.excused ?? 0
        switch RetrySchedule.next(
            delegate.settings.retrySchedule, attempts: attempts + 1, excused: excused, after: end.outcome,
            random: end.random)
        {
        case .exhausted: return exhaust(end, attempts: attempts + 1)
        case .excused(let delay): return retry(end, after: delay, attempts: attempts, excused: excused + 1)
        case .retry(let delay): return retry(end, after: delay, attempts: attempts + 1, excused: 0)
        }
    }

    private mutating func exhaust(_ end: End, attempts: Int) -> Settlement {
        waiting[end.sequence] = nil
        release(end.subject)
        return .exhausted(attempts: attempts)
    }

    private mutating func retry(_ end: End, after delay: Double, attempts: Int, excused: Int) -> Settlement {
        keepRow(end, attempts: attempts)
        waiting[end.sequence]?.excused = excused
        return .retry(after: Int64(delay * 1_000_000_000), attempts: attempts, turn: replan(end.sequence) ?? 0)
    }

    /// A delivery that is the only one that fails, for longer than its schedule lasts: it doesn't bar the others for good.
    private func isPoison(_ end: End) -> Bool {
        guard flow.breaker.isOneDelivery, end.outcome.meaning != .unreachable, let outage = flow.breaker.outage else {
            return false
        }
        let schedule = delegate.settings.retrySchedule.reduce(0, +)
        return Double(end.wall - outage.since) >= schedule * 1_000
    }

    private mutating func drop(_ end: End) -> Settlement {
        waiting[end.sequence] = nil
        release(end.subject)
        return .dropped(attempts: end.attempts + 1)
    }

    /// Whether a failed delivery goes on by a row that was made while it was under way. In a line of its subject it is the
    /// first again.
    private mutating func goesOn(_ sequence: LogPosition, _ origin: Origin, subject: String?) -> Bool {
        guard waiting[sequence] != nil else { return false }
        if origin == .log { waiting[sequence]?.isFirst = true }
        if let subject, lines.remove(sequence, subject), let retry = row(sequence) { held.append(retry) }
        return true
    }

    private mutating func close(_ sequence: LogPosition, _ origin: Origin) {
        switch origin {
        case .log:
            if let place = inFlight.firstIndex(of: sequence) { inFlight.remove(at: place) }
        case .retry:
            retriesInFlight -= 1
            waiting[sequence]?.isOpen = false
        case .replay(let id):
            if let place = replays.firstIndex(where: { $0.id == id }) { replays[place].ended(sequence) }
        }
    }

    private mutating func keepRow(_ end: End, attempts: Int) {
        if waiting[end.sequence] == nil {
            waiting[end.sequence] = Waiting(
                attempts: attempts, isReplay: end.origin != .log, isFirst: end.origin == .log, subject: end.subject)
        } else {
            waiting[end.sequence]?.attempts = attempts
        }
    }
}
