package import HeraldModel
import Synchronization

/// The state of all lanes that are not up to date, for listings of delegates, and how far the others have read the log.
/// Written by a delivery loop, the state of lanes at its checkpoints; read by any thread.
package final class LaneSnapshots: Sendable {
    package struct Entry: Equatable, Sendable {
        /// Every event up to here is settled; `nil` if the lane is up to date.
        package let cursor: LogPosition?
        package let inFlight: Int
        /// Number of deliveries that wait for a retry.
        package let retrying: Int
        /// Number of replays that have not ended.
        package let replays: Int
        package let flow: FlowStatus

        /// The first event that the lane has not read; `nil` if it has read all.
        package internal(set) var next: LogPosition? = nil
        /// Events from `next` on that the lane will not start: they are settled, or have their own row.
        package internal(set) var ahead: Set<LogPosition> = []

        package init(
            cursor: LogPosition?, inFlight: Int, retrying: Int, replays: Int, flow: FlowStatus,
            next: LogPosition? = nil,
            ahead: Set<LogPosition> = []
        ) {
            self.cursor = cursor
            self.inFlight = inFlight
            self.retrying = retrying
            self.replays = replays
            self.flow = flow
            self.next = next
            self.ahead = ahead
        }

        /// The receiver as a whole is failing: only probes are sent.
        package var isFailing: Bool { flow.circuit == .open }

        var state: State { next != nil ? .behind : cursor != nil ? .busy : .caughtUp }
    }

    /// How much of a lane an entry shows.
    enum State: Comparable {
        /// Nothing, or only deliveries that wait for a retry.
        case caughtUp
        /// First attempts are open.
        case busy
        /// The lane has not read all events.
        case behind
    }

    /// Lanes that are not at the loop's position in the log, and where they are.
    struct Place {
        let shards: Shards
        let position: LogPosition
    }

    private struct Lanes {
        var entries: [DelegateKey: Entry] = [:]
        /// The shards whose lanes the loop has.
        var shards: Shards = []
        var elsewhere: [Place] = []
    }

    private let lanes = Mutex(Lanes())
    private let routed = Atomic<LogPosition>(0)
    private let written = Atomic<LogPosition>(0)
    private let counted = Mutex(Counted())
    /// Counts of attempts by type that are not in the store.
    package let volumes = VolumeCounter()

    /// Statistics of attempts that are not in the store.
    private struct Counted {
        var current: [DelegateKey: DeliveryStatistics] = [:]
        /// The statistics of finished time slots.
        var closed: [DeliveryStatistics] = []
        /// The statistics that leave next, part by part.
        var due: [DeliveryStatistics] = []
        /// Being written to the store.
        var leaving: [DeliveryStatistics] = []
    }

    package init() {}

    func update(_ changes: [(key: DelegateKey, entry: Entry?)]) {
        lanes.withLock { lanes in
            for change in changes { lanes.entries[change.key] = change.entry }
        }
    }

    // MARK: Lanes without an entry

    /// - Parameter position: the common position of all lanes without a row.
    func begin(_ shards: Shards, at position: LogPosition) {
        settled = position
        routed(to: position)
        show(shards)
    }

    /// The shards whose lanes are shown here, and those of them that are not at the loop's position in the log.
    func show(_ shards: Shards, elsewhere: [Place] = []) {
        lanes.withLock { lanes in
            lanes.shards = shards
            lanes.elsewhere = elsewhere
        }
    }

    /// The loop's position in the log.
    func routed(to position: LogPosition) { routed.store(position, ordering: .relaxed) }

    /// Up to where a lane without an entry has read the log; `nil` if the loop does not have its shard.
    package func position(_ key: DelegateKey) -> LogPosition? {
        lanes.withLock { lanes in
            guard lanes.shards.contains(key) else { return nil }
            return lanes.elsewhere.first { $0.shards.contains(key) }?.position ?? routed.load(ordering: .relaxed)
        }
    }

    /// The store has the outcome of every event up to here. Later outcomes may still be unwritten.
    package internal(set) var settled: LogPosition {
        get { written.load(ordering: .relaxed) }
        set { written.store(newValue, ordering: .relaxed) }
    }

    /// Counts an attempt that has ended.
    /// - Parameters:
    ///   - time: milliseconds since 1970 UTC.
    ///   - duration: microseconds.
    func count(_ key: DelegateKey, succeeded: Bool, duration: Int64, at time: Int64) {
        counted.withLock { counted in
            let slot = time - time % DeliveryStatistics.slot
            var entry = counted.current[key] ?? DeliveryStatistics(delegate: key, start: slot)
            if entry.start != slot {
                counted.closed.append(entry)
                entry = DeliveryStatistics(delegate: key, start: slot)
            }
            // Removed first: with a second reference, the histogram would be copied by the change.
            counted.current[key] = nil
            entry.count(succeeded: succeeded, duration: duration)
            counted.current[key] = entry
        }
    }

    /// Takes statistics for the store. `statisticsWritten` is called when they have been stored.
    /// - Parameter limit: the size of a part, of what was counted before the first part; `nil` takes all.
    func takeStatistics(limit: Int?) -> [DeliveryStatistics] {
        counted.withLock { counted in
            if limit == nil || counted.due.isEmpty {
                counted.due += counted.closed + counted.current.values
                counted.closed = []
                counted.current = [:]
            }
            let taken = Array(counted.due.suffix(limit ?? .max))
            counted.due.removeLast(taken.count)
            counted.leaving += taken
            return taken
        }
    }

    /// - Returns: whether another part is to follow.
    func statisticsWritten() -> Bool {
        counted.withLock { counted in
            counted.leaving = []
            return !counted.due.isEmpty
        }
    }

    /// Statistics of a delegate that are not in the store yet. Any thread.
    package func statistics(_ key: DelegateKey) -> [DeliveryStatistics] {
        // Those of all delegates are searched outside the lock, which the loop needs for each attempt.
        let (current, ended) = counted.withLock { counted in
            (counted.current[key], [counted.closed, counted.due, counted.leaving])
        }
        return (current.map { [$0] } ?? []) + ended.flatMap { part in part.filter { $0.delegate == key } }
    }

    /// `nil` if the lane is up to date and nothing waits.
    package func entry(_ key: DelegateKey) -> Entry? { lanes.withLock { $0.entries[key] } }

    /// The entries of all lanes that are not up to date.
    package var allEntries: [DelegateKey: Entry] { lanes.withLock { $0.entries } }
}

extension LaneSnapshots.Entry {
    /// `nil` if the lane is up to date and nothing waits.
    /// - Parameters: see `FlowControl.status`.
    init?(_ lane: Lane, isParked: Bool, now: Int64, wallOffset: Int64) {
        if lane.isSettled && lane.waiting.count <= 0 && lane.rows.isEmpty && lane.flow.isFree && lane.open == 0
            && lane.replays.isEmpty
        {
            return nil
        }
        let blockedSubject = lane.blockedSubject
        self.init(
            cursor: lane.isSettled ? nil : lane.cursor, inFlight: lane.open,
            retrying: max(lane.rows.count, lane.waiting.count),
            replays: lane.replays.all.count,
            flow: lane.flow.status(
                open: lane.open, lane.limits, hasWork: lane.isActive && lane.hasWork, isParked: isParked,
                heldBack: lane.heldBack(blockedSubject), blockedSubject: blockedSubject,
                waitsForTurn: lane.waitsForTurn, now: now, wallOffset: wallOffset), next: lane.next, ahead: lane.ahead)
    }
}
