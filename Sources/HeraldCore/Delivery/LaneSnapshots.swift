import Synchronization

/// Where lanes stand that have something to tell, for whoever lists delegates. Written by a delivery loop at its
/// checkpoints, read by any thread.
package final class LaneSnapshots: Sendable {
    package struct Entry: Equatable, Sendable {
        /// Everything up to here is settled; `nil`: the lane is up to date.
        package let cursor: LogPosition?
        package let inFlight: Int
        /// Deliveries that wait for a retry.
        package let retrying: Int
        /// Replays that have not ended.
        package let replays: Int
        package let flow: FlowStatus
        /// The first event that it has not come to; `nil`: it has come to all.
        package internal(set) var next: LogPosition? = nil
        /// Events from there on that it starts nothing for: they are settled, or have a row of their own.
        package internal(set) var ahead: Set<LogPosition> = []

        /// The delegate fails as a whole: nothing is sent but probes.
        package var isFailing: Bool { flow.circuit == .open }
    }

    private let entries = Mutex<[DelegateKey: Entry]>([:])
    private let written = Atomic<LogPosition>(0)
    private let counted = Mutex(Counted())

    /// What was counted of attempts, and is not in the store.
    private struct Counted {
        var current: [DelegateKey: DeliveryStatistics] = [:]
        /// Of slots that are over.
        var closed: [DeliveryStatistics] = []
        /// On its way to the store.
        var leaving: [DeliveryStatistics] = []
    }

    package init() {}

    func update(_ changes: [(key: DelegateKey, entry: Entry?)]) {
        entries.withLock { entries in
            for change in changes { entries[change.key] = change.entry }
        }
    }

    /// Up to here the store knows what became of each event: what came later may still be on its way.
    package internal(set) var settled: LogPosition {
        get { written.load(ordering: .relaxed) }
        set { written.store(newValue, ordering: .relaxed) }
    }

    /// An attempt has ended.
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
            // Not in place while two hold it: the histogram would be copied.
            counted.current[key] = nil
            entry.count(succeeded: succeeded, duration: duration)
            counted.current[key] = entry
        }
    }

    /// Takes what was counted, for the store; `written` says when it is there.
    func takeStatistics() -> [DeliveryStatistics] {
        counted.withLock { counted in
            counted.leaving = counted.closed + counted.current.values
            counted.closed = []
            counted.current = [:]
            return counted.leaving
        }
    }

    func statisticsWritten() { counted.withLock { $0.leaving = [] } }

    /// What was counted of a delegate and is not in the store yet. Any thread.
    package func statistics(_ key: DelegateKey) -> [DeliveryStatistics] {
        counted.withLock { counted in
            (counted.current[key].map { [$0] } ?? []) + (counted.closed + counted.leaving).filter { $0.delegate == key }
        }
    }

    func remove(_ key: DelegateKey) { entries.withLock { $0[key] = nil } }

    /// `nil` when there is nothing to tell: up to date, nothing waits.
    package func entry(_ key: DelegateKey) -> Entry? { entries.withLock { $0[key] } }

    /// All lanes that have something to tell.
    package var allEntries: [DelegateKey: Entry] { entries.withLock { $0 } }
}

extension LaneSnapshots.Entry {
    /// `nil` when the lane has nothing to tell.
    /// - Parameters: as of `FlowControl.status`.
    init?(_ lane: Lane, isParked: Bool, now: Int64, wallOffset: Int64) {
        if lane.isSettled && lane.rows.isEmpty && lane.flow.isFree && lane.open == 0 && lane.replays.isEmpty {
            return nil
        }
        self.init(
            cursor: lane.isSettled ? nil : lane.cursor, inFlight: lane.open, retrying: lane.rows.count,
            replays: lane.replays.all.count,
            flow: lane.flow.status(
                open: lane.open, lane.limits, hasWork: lane.isActive && lane.hasWork, isParked: isParked, now: now,
                wallOffset: wallOffset), next: lane.next, ahead: lane.ahead)
    }
}
