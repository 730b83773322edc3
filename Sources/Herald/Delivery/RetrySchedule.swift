/// When a failed delivery is tried again. Pure: randomness comes from outside.
enum RetrySchedule {
    /// Seconds until the next attempt, or `nil` when the schedule is used up.
    /// - Parameters:
    ///   - schedule: seconds before the second, third, … attempt.
    ///   - attempts: how many were made, ≥ 1.
    ///   - outcome: of the last one. 429 and 503 with `Retry-After` are obeyed when that is later than the schedule.
    ///   - random: within 0..<1, for the ±20 % of jitter that keeps retries from arriving in waves.
    static func delay(_ schedule: [Double], attempts: Int, after outcome: CallbackOutcome, random: Double) -> Double? {
        guard attempts >= 1, attempts <= schedule.count else { return nil }
        let jittered = schedule[attempts - 1] * (0.8 + 0.4 * random)
        switch outcome.verdict {
        case .answered(429, let seconds?), .answered(503, let seconds?):
            return max(jittered, Double(seconds))
        default:
            return jittered
        }
    }
}
