/// When a failed delivery is tried again. Pure: randomness comes from outside.
enum RetrySchedule {
    /// Seconds before the same delivery is tried again after a hang.
    static let rest: Double = 60
    /// A rejection with `Retry-After` says when to come again, and uses up no retry, up to so many times for a delivery.
    static let maxExcused = 20

    enum Next: Equatable {
        /// After so many seconds.
        case retry(after: Double)
        /// The same, and the attempt doesn't count.
        case excused(after: Double)
        case exhausted
    }

    /// - Parameters:
    ///   - schedule: seconds before the second, third, … attempt.
    ///   - attempts: how many were made and counted, this one included, ≥ 1.
    ///   - excused: how many were not counted.
    ///   - outcome: of this one.
    ///   - random: within 0..<1, for the ±20 % of jitter that keeps retries from arriving in waves.
    static func next(
        _ schedule: [Double], attempts: Int, excused: Int, after outcome: CallbackOutcome, random: Double
    ) -> Next {
        guard let first = schedule.first else { return .exhausted }
        let jitter = 0.8 + 0.4 * random
        if let asked = outcome.retryAfter, excused < maxExcused {
            return .excused(after: max(first * jitter, Double(asked)))
        }
        guard attempts >= 1, attempts <= schedule.count else { return .exhausted }
        return .retry(
            after: max(schedule[attempts - 1] * jitter, Double(outcome.retryAfter ?? 0), outcome.needsRest ? rest : 0))
    }
}
