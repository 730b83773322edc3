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
    }

    /// What is known of the end of an attempt.
    struct End {
        let sequence: Sequence
        let origin: Origin
        let subject: String?
        /// How many were made before it.
        let attempts: Int
        let outcome: CallbackOutcome
        /// Monotonic nanoseconds.
        let now: Int64
        /// Milliseconds since 1970 UTC.
        let wall: Int64
        /// Within 0..<1, for the jitter.
        let random: Double
    }

    /// An attempt starts.
    mutating func started(_ sequence: Sequence, _ origin: Origin, now: Int64) {
        pace.started(now: now, delegate.settings.rateLimit)
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
            replayIsNext = false
            probesBeforeNew = held.count + 1
        }
    }

    /// An attempt was not made after all; its delivery waits.
    /// - Returns: the turn of its row; `nil`: it has none any more.
    mutating func returned(_ sequence: Sequence, _ origin: Origin, subject: String?) -> UInt32? {
        close(sequence, origin)
        if origin != .retry {
            waiting[sequence] = Waiting(attempts: 0, isReplay: origin != .log, subject: subject)
        }
        return replan(sequence)
    }

    /// An attempt has ended.
    mutating func finished(_ end: End) -> (settlement: Settlement, health: LaneHealth.Change) {
        close(end.sequence, end.origin)
        // A retry without a row was ended by request while it was under way.
        let isDropped = end.origin == .retry && waiting[end.sequence] == nil
        if end.outcome.isSuccess {
            if health.isFailing { pace.resume() }
            health = .working(failures: 0)
            window = min(window * 2, delegate.settings.maxInFlight)
            pace.succeeded()
            settle(end)
            return (.delivered, .none)
        }
        if end.outcome.isGone {
            settle(end)
            return (.dropped(attempts: end.attempts + 1), .none)
        }
        window = max(1, window / 2)
        if end.outcome.isOverload { pace.slowDown(retryAfter: end.outcome.retryAfter, now: end.now) }
        let change = health.fail(
            now: end.now, wall: end.wall, rest: end.outcome.needsRest ? Int64(RetrySchedule.rest * 1e9) : 0)
        if change == .stopped {
            probesBeforeNew = 1
            window = 1
        }
        if isDropped || isGone || end.outcome.control == .abortMessage {
            settle(end)
            return (.dropped(attempts: end.attempts + 1), change)
        }
        if change == .stillStopped || change == .lost {
            keepRow(end, attempts: end.attempts)
            if let retry = row(end.sequence) { held.append(retry) }
            return (.held, change)
        }
        let delay = RetrySchedule.delay(
            delegate.settings.retrySchedule, attempts: end.attempts + 1, after: end.outcome, random: end.random)
        guard let delay else {
            settle(end)
            return (.exhausted(attempts: end.attempts + 1), change)
        }
        keepRow(end, attempts: end.attempts + 1)
        return (
            .retry(
                after: Int64(delay * 1_000_000_000), attempts: end.attempts + 1, turn: replan(end.sequence) ?? 0),
            change
        )
    }

    private mutating func close(_ sequence: Sequence, _ origin: Origin) {
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

    /// The delivery has ended: the next one about its subject may go.
    private mutating func settle(_ end: End) {
        waiting[end.sequence] = nil
        release(end.subject)
    }

    private mutating func keepRow(_ end: End, attempts: Int) {
        if waiting[end.sequence] == nil {
            waiting[end.sequence] = Waiting(attempts: attempts, isReplay: end.origin != .log, subject: end.subject)
        } else {
            waiting[end.sequence]?.attempts = attempts
        }
    }
}
