import Synchronization

/// What this process knows of the lanes of others: where the store has them, as of the last second or two. Any thread.
final class OtherLanes: Sendable {
    let board = LaneSnapshots()
    private let shards: ShardCounts
    private let registry: Registry
    private let readers: ReaderPool
    private let isBusy = Atomic<Bool>(false)

    init(shards: ShardCounts, registry: Registry, readers: ReaderPool) {
        self.shards = shards
        self.registry = registry
        self.readers = readers
    }

    /// Called about once a second.
    @Sendable
    func look() {
        let others = Shards.all.subtracting(shards.held)
        if others.isEmpty { return board.replace([:]) }
        if isBusy.exchange(true, ordering: .acquiringAndReleasing) { return }
        let isTaken = readers.submit { [self] reader in
            defer { isBusy.store(false, ordering: .releasing) }
            guard let found = try? reader.get().progress() else { return }
            board.replace(entries(found.lanes.filter { others.contains($0.delegate) }))
            board.settled = found.settled
        }
        if !isTaken { isBusy.store(false, ordering: .releasing) }
    }

    private func entries(_ lanes: [LanePosition]) -> [DelegateKey: LaneSnapshots.Entry] {
        var entries: [DelegateKey: LaneSnapshots.Entry] = [:]
        for lane in lanes {
            let isFailing = registry.delegate(key: lane.delegate)?.state.failingSince != nil
            entries[lane.delegate] = .init(
                cursor: lane.cursor, inFlight: 0, retrying: 0, replays: 0,
                flow: FlowStatus(circuit: isFailing ? .open : .closed), next: lane.position + 1)
        }
        return entries
    }
}
