import HeraldModel

/// When a failed delivery is retried. Pure: randomness is a parameter.
enum RetrySchedule {
    /// The minimum delay after a hang, in seconds.
    static let minimumDelay: Double = 60
    /// By how much jitter prolongs a delay at most.
    static let maxJitter = 1.2
    /// How many rejections with `Retry-After` of a delivery use up no retry.
    static let maxExcused = 20

    enum Next: Equatable {
        /// After this many seconds.
        case retry(after: Double)
        /// Retry after this time; the attempt does not count.
        case excused(after: Double)
        case exhausted
    }

    /// - Parameters:
    ///   - schedule: seconds before the second, third, … attempt.
    ///   - attempts: the number of counted attempts, including this one, ≥ 1.
    ///   - excused: the number of rejections with `Retry-After` before it that did not count.
    ///   - outcome: the outcome of this attempt.
    ///   - random: within 0..<1, for the ±20 % of jitter that spreads retries.
    static func next(
        _ schedule: [Double], attempts: Int, excused: Int, after outcome: CallbackOutcome, random: Double
    ) -> Next {
        guard let first = schedule.first else { return .exhausted }
        let jitter = 0.8 + 0.4 * random
        if outcome.meaning == .rejection, let asked = outcome.retryAfter, excused < maxExcused {
            return .excused(after: max(first * jitter, Double(asked)))
        }
        guard attempts >= 1, attempts <= schedule.count else { return .exhausted }
        return .retry(
            after: max(
                schedule[attempts - 1] * jitter, Double(outcome.retryAfter ?? 0),
                outcome.needsMinimumDelay ? minimumDelay : 0))
    }
}
