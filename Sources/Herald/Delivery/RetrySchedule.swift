/// When a failed delivery is tried again. Pure: randomness comes from outside.
enum RetrySchedule {
    /// A receiver that did not answer in time, or whose gateway says so, is left alone for so many seconds at least.
    static let rest: Double = 60

    /// Seconds until the next attempt, or `nil` when the schedule is used up.
    /// - Parameters:
    ///   - schedule: seconds before the second, third, … attempt.
    ///   - attempts: how many were made, ≥ 1.
    ///   - outcome: of the last one. 429 and 503 with `Retry-After` are obeyed when that is later than the schedule.
    ///   - random: within 0..<1, for the ±20 % of jitter that keeps retries from arriving in waves.
    static func delay(_ schedule: [Double], attempts: Int, after outcome: CallbackOutcome, random: Double) -> Double? {
        guard attempts >= 1, attempts <= schedule.count else { return nil }
        let jittered = schedule[attempts - 1] * (0.8 + 0.4 * random)
        return max(jittered, Double(outcome.retryAfter ?? 0), outcome.needsRest ? rest : 0)
    }
}

extension CallbackOutcome {
    /// The receiver is there and has too much to do: 429 or 503.
    var isOverload: Bool {
        if case .answered(let status, _) = verdict { return status == 429 || status == 503 }
        return false
    }

    /// The receiver says that nobody is there any more, for ever.
    var isGone: Bool {
        if case .answered(410, _) = verdict { return true }
        return false
    }

    /// Seconds that a receiver with too much to do asked for.
    var retryAfter: Int? {
        if isOverload, case .answered(_, let seconds) = verdict { return seconds }
        return nil
    }

    /// No answer in time, or a gateway that got none.
    var needsRest: Bool {
        switch verdict {
        case .failed(.timeout, _), .answered(502, _), .answered(504, _): true
        default: false
        }
    }
}
