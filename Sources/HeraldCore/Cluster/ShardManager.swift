import HeraldDelivery
package import HeraldModel
import HeraldRuntime
import Synchronization

/// Shares the delegates with the other processes that have the store open: looks each second which of them are there, takes the
/// shards that are to be here, and gives those that are to be elsewhere. The writer's thread, outside transactions.
struct ShardManager {
    /// The parts of the hub that it acts on. Any thread.
    struct Ports: Sendable {
        /// The number of delivery loops.
        let loops: Int
        let send: @Sendable (_ loop: Int, LoopMessage) -> Void
        let delegates: @Sendable () -> [WebhookDelegate]
        /// Requests an early check by the writer.
        let wake: @Sendable () -> Void
        let permit: DeliveryPermit
        let counts: ShardCounts
        let handover: ShardHandover
        /// See `EventStore.recover`.
        let maxRows: Int
        /// Called with the lanes of shards that were taken.
        let restored: @Sendable (LaneRecovery, [WebhookDelegate]) -> Void
    }

    /// The end of a loop's work with shards.
    private enum Ending: Sendable {
        /// The store has all results of these.
        case given(Shards)
        /// They have no lanes of these any more.
        case left(Shards)
    }

    /// Nanoseconds between two checks.
    private static let interval: Int64 = 1_000_000_000
    /// Nanoseconds after which a process that runs has noticed the end of its session.
    private static let notice: Int64 = 500_000_000
    /// Nanoseconds for open attempts of shards that are given.
    private static let grace: Int64 = 10_000_000_000

    private let leases: any ShardLeases
    private let store: any EventStore
    private let ports: Ports
    private let clock: Clock
    private let endings: Mailbox<Ending>
    private var plan: ShardPlan
    /// Shards whose previous owner may still act, because its session has just ended, and when that wait is over.
    private var abandoned: (shards: Shards, until: Int64)?
    /// Monotonic nanoseconds.
    private var nextCheck: Int64 = 0
    private var isStopping = false

    init(_ leases: any ShardLeases, _ store: any EventStore, _ ports: Ports, clock: Clock) {
        self.leases = leases
        self.store = store
        self.ports = ports
        self.clock = clock
        endings = Mailbox(wake: ports.wake)
        plan = ShardPlan(node: leases.node)
    }

    /// Whether this process does what one of all has to do.
    var runsMaintenance: Bool { plan.held.contains(.housekeeper) }

    /// Whether the session holds the shard of a delegate.
    func owns(_ delegate: DelegateKey) -> Bool { leases.held.contains(delegate) }

    /// The part of a checkpoint for the shards that the session holds.
    func own(_ checkpoint: Checkpoint) -> Checkpoint { checkpoint.without(Shards.all.subtracting(leases.held)) }

    /// Called often, when memory includes what others have changed.
    mutating func update() throws(StoreError) {
        let now = clock.monotonic()
        let ended = endings.takeAll()
        for case .given(let shards) in ended { plan.gave(shards) }
        // Taken at the next check at the earliest: checkpoints that were submitted before are still to be written.
        defer { for case .left(let shards) in ended { plan.left(shards) } }
        let deadline = ports.handover.deadline
        let begins = deadline != nil && !isStopping
        if begins {
            try leases.leave()
            isStopping = true
        }
        // A transaction may have opened the next session: the new owner of lost shards waits no longer than `notice`.
        let hasLost = !leases.held.isSuperset(of: plan.held)
        guard now >= nextCheck || !ended.isEmpty || begins || hasLost else { return }
        nextCheck = now + Self.interval
        let nodes = try leases.heartbeat()
        lose(plan.held.subtracting(leases.held))
        if ports.permit.renew(alive: now, now: clock.monotonic()) {
            for loop in 0..<ports.loops { ports.send(loop, .permitted) }
        }
        defer { ports.counts.set(plan.held, nodes: nodes.count) }
        // Besides those that were just given up, it may be some of a request whose response was lost.
        let left = leases.held.subtracting(plan.held).subtracting(abandoned?.shards ?? [])
        if !left.isEmpty { try leases.give(left) }
        if isStopping, plan.held.isEmpty { ports.handover.ended() }
        if !isStopping, let (shards, until) = abandoned, until <= now {
            abandoned = nil
            try begin(shards.intersection(leases.held))
        }
        let step = plan.step(among: nodes, isStopping: isStopping)
        if !step.give.isEmpty { give(step.give, deadline ?? now + Self.grace) }
        if !step.take.isEmpty, abandoned == nil { try take(step.take, now) }
    }

    /// The session has ended: other nodes may take all shards.
    func sessionIsLost() { ports.permit.revoke(clock.monotonic()) }

    private mutating func take(_ wanted: Shards, _ now: Int64) throws(StoreError) {
        let found = try leases.take(wanted)
        if !found.abandoned.isEmpty {
            abandoned = (found.abandoned, now + Self.notice)
            nextCheck = now + Self.notice
        }
        try begin(found.taken.subtracting(found.abandoned))
    }

    /// Delivers to the delegates of these shards from where their last owner has stopped.
    private mutating func begin(_ taken: Shards) throws(StoreError) {
        if taken.isEmpty { return }
        // Later changes of the delegates come as messages, behind this one.
        let delegates = ports.delegates()
        let lanes = try store.lanes(of: taken, delegates, maxRows: ports.maxRows)
        for loop in 0..<ports.loops {
            let own = taken.intersection(Shards(ofLoop: loop, among: ports.loops))
            if own.isEmpty { continue }
            ports.send(loop, .take(own, from: lanes.settled.earliest(of: own), lanes.lanes(of: own, delegates)))
        }
        ports.restored(lanes, delegates)
        plan.took(taken)
        ports.counts.took(taken)
    }

    /// Each for itself: an attempt that takes long holds up one shard.
    private func give(_ shards: Shards, _ deadline: Int64) {
        for key in DelegateKey(0)..<DelegateKey(Shards.count) where shards.contains(key) {
            let shard = Shards(of: key)
            ports.send(
                Shards.loop(of: key, among: ports.loops),
                .give(shard, deadline: deadline) { [endings] in endings.post(.given(shard)) })
        }
    }

    /// Others may have these already.
    private mutating func lose(_ shards: Shards) {
        if shards.isEmpty { return }
        plan.lost(shards)
        let parts = Countdown(ports.loops) { [endings] in endings.post(.left(shards)) }
        for loop in 0..<ports.loops { ports.send(loop, .lose(shards, done: parts.end)) }
        ports.counts.lost(shards)
    }
}

/// Which shards this process has, and how many moved. The writer's thread changes it, any thread reads it.
package final class ShardCounts: Sendable {
    private let bits: Atomic<UInt64>
    private let present = Atomic<Int>(1)
    private let takes = Atomic<Int>(0)
    private let gifts = Atomic<Int>(0)
    private let losses = Atomic<Int>(0)

    init(_ shards: Shards) { bits = Atomic(shards.rawValue) }

    package var held: Shards { Shards(rawValue: bits.load(ordering: .relaxed)) }
    /// The number of processes that have the store open.
    package var nodes: Int { present.load(ordering: .relaxed) }

    /// How shards change hands.
    package enum Move: String, CaseIterable, Sendable { case taken, given, lost }

    /// The number of shards since the start of the process. What is lost is not given.
    package func count(_ move: Move) -> Int {
        switch move {
        case .taken: takes.load(ordering: .relaxed)
        case .given: gifts.load(ordering: .relaxed)
        case .lost: losses.load(ordering: .relaxed)
        }
    }

    fileprivate func set(_ shards: Shards, nodes: Int) {
        gifts.add(held.subtracting(shards).number, ordering: .relaxed)
        bits.store(shards.rawValue, ordering: .relaxed)
        present.store(nodes, ordering: .relaxed)
    }
    fileprivate func took(_ shards: Shards) { takes.add(shards.number, ordering: .relaxed) }
    fileprivate func lost(_ shards: Shards) {
        losses.add(shards.number, ordering: .relaxed)
        bits.bitwiseAnd(~shards.rawValue, ordering: .relaxed)
    }
}

/// Calls a closure when several parts have ended. Any thread.
private final class Countdown: Sendable {
    private let left: Atomic<Int>
    private let completion: @Sendable () -> Void

    init(_ parts: Int, _ completion: @escaping @Sendable () -> Void) {
        left = Atomic(parts)
        self.completion = completion
    }

    @Sendable
    func end() { if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { completion() } }
}
