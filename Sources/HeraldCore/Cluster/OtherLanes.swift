import HeraldDelivery
import HeraldModel
import HeraldRuntime
import Synchronization

/// The stored positions of lanes that this node has no loop for, at most two seconds old: those of other nodes, and those of
/// pull delegates. Any thread.
final class OtherLanes: Sendable {
    private struct Found {
        var entries: [DelegateKey: LaneSnapshots.Entry] = [:]
        var settled = SettledPositions(0)
        /// The end of the log at the last three reads.
        var heads: [LogPosition] = []
    }

    private let shards: ShardCounts
    private let committed: CommittedState
    private let readers: ReaderPool
    private let found = Mutex(Found())
    private let isBusy = Atomic<Bool>(false)

    init(shards: ShardCounts, committed: CommittedState, readers: ReaderPool) {
        self.shards = shards
        self.committed = committed
        self.readers = readers
    }

    /// `nil` if the store has no row of the lane.
    func entry(_ key: DelegateKey) -> LaneSnapshots.Entry? { found.withLock { $0.entries[key] } }

    /// Up to where the store has the outcome of every event for the lanes of this shard without a row.
    func settled(_ key: DelegateKey) -> LogPosition { found.withLock { $0.settled[key] } }

    /// Up to where a lane without a row has read the log; `LogPosition.max` if it is up to date, as far as it is known. Its
    /// owner writes the position within a second. If that is missing, no node has the shard, or its owner is behind.
    func position(_ key: DelegateKey) -> LogPosition {
        found.withLock { found in
            let settled = found.settled[key]
            return settled >= found.heads.first ?? .max ? .max : settled
        }
    }

    /// Reads for the first time. Returns when that has succeeded or failed.
    func begin() {
        let done = Semaphore()
        refresh { done.signal() }
        done.wait()
    }

    /// Called about once a second.
    /// - Parameter done: called once, on some thread; must not wait.
    @Sendable
    func refresh(_ done: @escaping @Sendable () -> Void = {}) {
        let head = committed.recentEvents.head
        if shards.held == .all, !committed.registry.hasPulls {
            // What is given away from now on is known from here.
            found.withLock { $0 = Found(settled: SettledPositions(head), heads: [head]) }
            return done()
        }
        if isBusy.exchange(true, ordering: .acquiringAndReleasing) { return done() }
        let isTaken = readers.submit(app: nil) { [self] reader in
            defer { done() }
            defer { isBusy.store(false, ordering: .releasing) }
            // A failure leaves what the last read has found.
            guard let progress = readers.found(reader, { reader throws(StoreError) in try reader.progress() }) else {
                return
            }
            let isAlone = shards.held == .all
            let entries = entries(isAlone ? progress.lanes.filter { isPull($0.delegate) } : progress.lanes)
            found.withLock { found in
                found = Found(
                    entries: entries, settled: isAlone ? SettledPositions(head) : progress.settled,
                    heads: isAlone ? [head] : found.heads.suffix(2) + [head])
            }
        }
        if isTaken { return }
        isBusy.store(false, ordering: .releasing)
        done()
    }

    private func isPull(_ key: DelegateKey) -> Bool { committed.registry.delegate(key: key)?.settings.kind == .pull }

    private func entries(_ lanes: [LanePosition]) -> [DelegateKey: LaneSnapshots.Entry] {
        var entries: [DelegateKey: LaneSnapshots.Entry] = [:]
        for lane in lanes {
            let delegate = committed.registry.delegate(key: lane.delegate)
            // The rest is in the memory of its owner.
            let flow = FlowStatus(
                circuit: delegate?.state.failingSince == nil ? .closed : .open,
                concurrency: delegate?.settings.maxInFlight ?? 1)
            entries[lane.delegate] = .init(
                cursor: lane.cursor, inFlight: 0, retrying: 0, replays: 0, flow: flow, next: lane.position + 1)
        }
        return entries
    }
}
