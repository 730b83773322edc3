/// How a delegate has answered lately. Pure.
enum LaneHealth: Equatable {
    /// With so many failures in a row.
    case working(failures: Int)
    /// Too many in a row, `since` then (milliseconds since 1970 UTC). Nothing is sent but one attempt at a time from
    /// `probeAt` on (monotonic nanoseconds); `pause` is the distance to the next probe. A success makes it `working`.
    case failing(since: Int64, probeAt: Int64, pause: Int64)

    /// Failures in a row that stop a lane.
    static let failuresBeforeStop = 5
    /// Between probes: the first pause, doubled up to the last.
    static let firstPause: Int64 = 5_000_000_000
    static let longestPause: Int64 = 300_000_000_000
    /// A delegate that has failed for so long is disabled, in milliseconds: five days.
    static let patience: Int64 = 5 * 86_400_000

    /// What a failure means.
    enum Change: Equatable {
        /// The delegate works, as far as is known.
        case none
        /// The lane stops.
        case stopped
        /// It was stopped already.
        case stillStopped
        /// It has been failing for too long.
        case lost
    }

    var isFailing: Bool {
        if case .failing = self { return true }
        return false
    }

    /// Somebody thinks that the delegate works again: the next probe is due.
    /// - Parameter isNew: what was is forgotten.
    mutating func mend(isNew: Bool) {
        guard case .failing(let since, _, _) = self, !isNew else {
            self = .working(failures: 0)
            return
        }
        self = .failing(since: since, probeAt: 0, pause: Self.firstPause)
    }

    /// - Parameters:
    ///   - now: monotonic nanoseconds.
    ///   - wall: milliseconds since 1970 UTC.
    ///   - rest: how long the receiver must be left alone at least, nanoseconds.
    mutating func fail(now: Int64, wall: Int64, rest: Int64) -> Change {
        switch self {
        case .working(let failures) where failures + 1 < Self.failuresBeforeStop:
            self = .working(failures: failures + 1)
            return .none
        case .working:
            self = .failing(since: wall, probeAt: now + max(Self.firstPause, rest), pause: Self.firstPause)
            return .stopped
        case .failing(let since, let probeAt, let pause):
            // Attempts that were open when the lane stopped end here too: only a probe moves the next probe.
            guard now >= probeAt else { return .stillStopped }
            let longer = min(pause * 2, Self.longestPause)
            self = .failing(since: since, probeAt: now + max(longer, rest), pause: longer)
            return wall - since >= Self.patience ? .lost : .stillStopped
        }
    }
}
