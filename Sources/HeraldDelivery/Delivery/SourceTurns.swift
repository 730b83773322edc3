/// Decides which of a lane's sources is next if several have something to start.
struct SourceTurns {
    /// Number of first attempts between two late retries, while there are both.
    private static let firstTriesPerRetry: UInt8 = 3

    /// Number of first attempts since the last retry, up to ``firstTriesPerRetry``.
    private var firstTries: UInt8 = 0
    private(set) var replayIsNext = false
    /// While the receiver is failing, deliveries that have failed and new events are probed with in turn: an event that
    /// always fails does not block the others.
    private var probeIsRetrys = false

    func isRetrys(isFailing: Bool) -> Bool {
        isFailing ? probeIsRetrys : firstTries >= Self.firstTriesPerRetry
    }

    mutating func started(_ origin: Lane.Origin) {
        probeIsRetrys = origin != .retry
        if origin == .retry {
            firstTries = 0
        } else {
            firstTries = min(firstTries + 1, Self.firstTriesPerRetry)
            replayIsNext = origin == .log
        }
    }

    /// Called when the receiver begins to fail.
    mutating func opened() { probeIsRetrys = true }

    /// Lets a retry start next.
    mutating func retryIsNext() {
        firstTries = Self.firstTriesPerRetry
        probeIsRetrys = true
    }
}
