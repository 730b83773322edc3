import HeraldDelivery
import HeraldModel
import HeraldRuntime

/// This process as one of the nodes that share the store and its delegates, or as the only one. No other file reads from the store
/// whether it is shared. Any thread.
final class LocalNode: Sendable {
    /// How a store is shared.
    struct Sharing: Sendable {
        let store: any EventStore
        /// The clock of all processes that have the store open.
        let clock: Clock
        fileprivate let isShared: Bool
        /// `nil` if all delegates belong to this process.
        fileprivate let node: NodeKey?
        fileprivate let handover: ShardHandover?

        init(_ store: any EventStore, clock: Clock) throws(SystemError) {
            self.store = store
            isShared = store.isShared
            self.clock = isShared ? clock.ahead { store.clockOffset } : clock
            node = store.leases?.node
            handover = node == nil ? nil : ShardHandover()
        }

        /// The limits of the delivery loops.
        func limits(_ limits: LoopLimits) -> LoopLimits {
            var limits = limits
            // A database that others use, too, writes a row for each lane and shard.
            if node != nil { limits.positionInterval = 1_000_000_000 }
            return limits
        }
    }

    let monitor: NodeMonitor
    /// Attempts start while it lasts.
    let permit: DeliveryPermit
    /// Which delegates are delivered to by this process.
    let shards: ShardCounts
    /// The lanes of the other nodes.
    let lanes: OtherLanes
    /// `nil` if all delegates belong to this process.
    let outcomes: OtherOutcomes?
    private let sharing: Sharing
    /// `nil` if the store belongs to this process.
    private let freshness: Freshness?
    private let committed: CommittedState
    private let intake: Intake
    private let loops: [DeliveryLoop]
    /// Rows of waiting deliveries with which a lane begins: see `EventStore.recover`.
    let maxRows: Int
    private let restored: @Sendable (LaneRecovery, [WebhookDelegate]) -> Void

    /// - Parameters:
    ///   - maxRows: see the property.
    ///   - restored: called with the lanes of shards that are taken after the start.
    init(
        _ sharing: Sharing, committed: CommittedState, intake: Intake, readers: ReaderPool, loops: [DeliveryLoop],
        maxRows: Int, restored: @escaping @Sendable (LaneRecovery, [WebhookDelegate]) -> Void
    ) {
        self.sharing = sharing
        self.committed = committed
        self.intake = intake
        self.loops = loops
        self.maxRows = maxRows
        self.restored = restored
        let (isAlone, clock) = (sharing.node == nil, sharing.clock)
        freshness = sharing.isShared ? Freshness(clock) : nil
        permit = DeliveryPermit(isLimited: !isAlone)
        shards = ShardCounts(isAlone ? .all : [])
        monitor = NodeMonitor(sharing.node, shards: shards, permit: permit, clock: clock)
        lanes = OtherLanes(shards: shards, committed: committed, readers: readers)
        outcomes =
            isAlone
            ? nil
            : OtherOutcomes(shards: shards, committed: committed, readers: readers) { nanoseconds, body in
                loops[0].after(nanoseconds: nanoseconds, body)
            }
    }

    /// Whether this process does what one of all has to do.
    var runsMaintenance: Bool { shards.held.contains(.housekeeper) }

    /// The number of parts that report outcomes of an event besides the loops.
    var routers: Int { outcomes == nil ? 0 : 1 }

    /// Reads the lanes of other nodes, and notifies the observers of changes. Called about once a second.
    func refresh() {
        lanes.refresh()
        monitor.notifyOfChanges()
    }

    /// The writer's part. On the writer's thread.
    /// - Parameter lastChange: the last change that memory includes.
    func cluster(after lastChange: Int64) -> any Cluster {
        guard let freshness else { return SingleProcess(committed.registry) }
        return SharedStore(after: lastChange, shards: shardManager, freshness: freshness, clock: sharing.clock)
    }

    private var shardManager: ShardManager? {
        guard let leases = sharing.store.leases, let handover = sharing.handover else { return nil }
        return ShardManager(
            leases, sharing.store,
            .init(
                loops: loops.count, send: { [loops] number, message in loops[number].post(message) },
                delegates: { [committed] in committed.registry.all }, wake: { [intake] in intake.catchUp() },
                permit: permit, counts: shards, handover: handover, maxRows: maxRows, restored: restored),
            clock: sharing.clock)
    }

    /// Releases the shards to other nodes and waits for it, before the loops stop. Without a permit there is no contact with the
    /// store, and other nodes take the shards soon anyway.
    /// - Parameter deadline: when open attempts are no longer waited for, in monotonic nanoseconds.
    func leave(deadline: Int64) {
        guard let handover = sharing.handover else { return }
        handover.begin(deadline: deadline)
        intake.catchUp()
        let clock = sharing.clock
        handover.wait { clock.monotonic() >= deadline || !permit.allows(clock.monotonic()) }
    }

    // MARK: Reading: see the properties of the hub

    var isCurrent: Bool { freshness?.isCurrent ?? true }

    var canCatchUp: Bool { freshness?.isCurrent ?? false }

    var limitsReads: Bool { freshness != nil }
}
