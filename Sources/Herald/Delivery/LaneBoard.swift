import Synchronization

/// Where lanes stand that have something to tell, for whoever lists delegates. Written by a delivery loop at its
/// checkpoints, read by any thread.
public final class LaneBoard: Sendable {
    public struct Entry: Equatable, Sendable {
        /// Everything up to here is settled; `nil`: the lane is up to date.
        public let cursor: Sequence?
        public let inFlight: Int
        /// Deliveries that wait for a retry.
        public let retrying: Int
        /// The delegate fails as a whole: nothing is sent but probes.
        public let isFailing: Bool
    }

    private let entries = Mutex<[DelegateKey: Entry]>([:])
    private let written = Atomic<Sequence>(0)

    public init() {}

    func update(_ changes: [(key: DelegateKey, entry: Entry?)]) {
        entries.withLock { entries in
            for change in changes { entries[change.key] = change.entry }
        }
    }

    /// Up to here the store knows what became of each event: what came later may still be on its way.
    public internal(set) var settled: Sequence {
        get { written.load(ordering: .relaxed) }
        set { written.store(newValue, ordering: .relaxed) }
    }

    func remove(_ key: DelegateKey) { entries.withLock { $0[key] = nil } }

    /// `nil` when there is nothing to tell: up to date, nothing waits.
    public func entry(_ key: DelegateKey) -> Entry? { entries.withLock { $0[key] } }

    /// How many lanes have something to tell, how many of these fail, and how many deliveries wait for a retry.
    public var summary: (active: Int, failing: Int, retrying: Int) {
        entries.withLock { entries in
            entries.values.reduce(into: (0, 0, 0)) { sum, entry in
                sum.0 += 1
                sum.1 += entry.isFailing ? 1 : 0
                sum.2 += entry.retrying
            }
        }
    }
}

extension LaneBoard.Entry {
    /// `nil` when the lane has nothing to tell.
    init?(_ lane: Lane) {
        var isFailing = false
        if case .failing = lane.health { isFailing = true }
        if lane.isSettled && lane.waiting == 0 && !isFailing && lane.open == 0 { return nil }
        self.init(
            cursor: lane.isSettled ? nil : lane.cursor, inFlight: lane.open, retrying: lane.waiting,
            isFailing: isFailing)
    }
}
