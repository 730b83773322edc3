/// Which of a lane's sources may start next when several have something.
struct SourceTurns {
    /// First tries between two late retries, while there are both.
    private static let firstTriesPerRetry = 3

    /// First tries since the last retry.
    private var firstTries = 0
    private(set) var replayIsNext = false
    /// While failing: so many probes go to deliveries that failed already before the next one is a new event. Each round
    /// is longer than the one before, so that an outage costs few rows, and an event that always fails bars no other.
    private var probesBeforeNew = 0

    func isRetrys(isFailing: Bool) -> Bool {
        isFailing ? probesBeforeNew > 0 : firstTries >= Self.firstTriesPerRetry
    }

    /// - Parameter due: retries that could start.
    mutating func started(_ origin: Lane.Origin, due: Int) {
        if origin == .retry {
            firstTries = 0
            probesBeforeNew = max(0, probesBeforeNew - 1)
        } else {
            firstTries += 1
            replayIsNext = origin == .log
            probesBeforeNew = due + 1
        }
    }

    /// The lane begins to fail.
    mutating func opened() { probesBeforeNew = 1 }
}
