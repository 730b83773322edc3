/// Decides which of a lane's sources is next if several have something to start.
struct SourceTurns {
    /// Number of first attempts between two late retries, while there are both.
    private static let firstTriesPerRetry: UInt8 = 3

    /// Number of first attempts since the last retry, up to ``firstTriesPerRetry``.
    private var firstTries: UInt8 = 0
    private(set) var replayIsNext = false
    /// While the receiver is failing: the number of probes with deliveries that have already failed before the next
    /// probe takes a new event. Each round is longer than the one before, so that an outage makes few rows, and an
    /// event that always fails does not block the others.
    private var probesBeforeNew: UInt32 = 0

    func isRetrys(isFailing: Bool) -> Bool {
        isFailing ? probesBeforeNew > 0 : firstTries >= Self.firstTriesPerRetry
    }

    /// - Parameter due: the number of retries that could start.
    mutating func started(_ origin: Lane.Origin, due: Int) {
        if origin == .retry {
            firstTries = 0
            if probesBeforeNew > 0 { probesBeforeNew -= 1 }
        } else {
            firstTries = min(firstTries + 1, Self.firstTriesPerRetry)
            replayIsNext = origin == .log
            probesBeforeNew = UInt32(due) + 1
        }
    }

    /// Called when the receiver begins to fail.
    mutating func opened() { probesBeforeNew = 1 }
}
