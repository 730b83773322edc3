import HeraldRuntime

/// A step of a consumer of a pull delegate, with its completion.
///
/// Memory proposes what a pull hands out, and the store decides: a proposal that is out of date is refused, and made again.
package struct PullWrite: Sendable {
    /// What a scan has found for a pull.
    package struct Proposal: Sendable {
        /// The position of the lane when the scan began.
        package var from: LogPosition
        /// The position after it.
        package var to: LogPosition
        /// What is handed out, ascending by event; may be empty if there are rows to end, or if the position advances.
        package var entries: [PullLease.Entry]
        /// Rows that the delegate no longer wants, or whose events are damaged.
        package var ended: [WaitingDelivery]
        package var ackSeconds: Int
        package init(
            from: LogPosition, to: LogPosition, entries: [PullLease.Entry], ended: [WaitingDelivery], ackSeconds: Int
        ) {
            self.from = from
            self.to = to
            self.entries = entries
            self.ended = ended
            self.ackSeconds = ackSeconds
        }
    }

    /// An event that a consumer reports as failed.
    package struct Failed: Sendable {
        package let id: String
        /// In seconds; `nil` for the retry schedule.
        package let retryAfter: Int?
        package let reason: String
        package init(id: String, retryAfter: Int?, reason: String) {
            self.id = id
            self.retryAfter = retryAfter
            self.reason = reason
        }
    }

    package enum Action: Sendable {
        case claim(Proposal)
        case acknowledge(lease: String, failed: [Failed])
        /// Gives the events of a lease back, without an attempt.
        case release(lease: String)
        case extend(lease: String, seconds: Int)
        /// Moves the position, and releases all leases.
        case seek(to: LogPosition)
    }

    package struct Settled: Equatable, Sendable {
        package let acknowledged, retrying, exhausted: Int
    }

    package enum Outcome: Sendable {
        case claimed(PullLease)
        /// The proposal is out of date, or handed nothing out: the lane is there now.
        case moved(LanePosition)
        /// All leases of the delegate are taken: the first one ends at this time.
        case isFull(until: Int64)
        case settled(Settled)
        case extended(PullLease)
        case sought(LanePosition)
        case leaseEnded
        case notFound
        case isPaused
        case wrongKind
        /// These events are not in the lease, by their index.
        case unknownEvents([Int])
    }

    package let app: AppKey
    package let delegateID: String
    package let action: Action
    /// For the audit log; `nil` for the steps of consumers.
    package let provenance: Provenance?
    /// Called once on the writer's thread (or at once if it is refused); must not wait.
    package let completion: @Sendable (WriteResult<Outcome>) -> Void

    package init(
        app: AppKey = .default, delegateID: String, action: Action, provenance: Provenance? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.delegateID = delegateID
        self.action = action
        self.provenance = provenance
        self.completion = completion
    }

    /// The maximum number of leases that end in one transaction.
    private static let endedLeases = 4
}

extension PullWrite: RequestCommand {
    package var idempotency: Idempotency<Outcome>? { nil }

    package func outcome(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        guard let delegate = context.committed.registry.delegate(app, id: delegateID) else { return .notFound }
        guard delegate.settings.kind == .pull else { return .wrongKind }
        // An earlier write of the transaction may have removed it.
        guard let lane = try transaction.lane(of: delegate.key) else { return .notFound }
        var work = Work(delegate: delegate, lane: lane, now: context.clock.wall(), context, transaction)
        let outcome = try outcome(&work)
        try work.write(&plan)
        if case .sought = outcome { try context.record(provenance, app, target: delegate.id, transaction) }
        return outcome
    }

    private func outcome(_ work: inout Work) throws(StoreError) -> Outcome {
        switch action {
        case .claim(let proposal):
            guard work.delegate.status == .active else { return .isPaused }
            return try claim(proposal, &work)
        case .acknowledge(let id, let failed):
            guard let lease = try work.openLease(id) else { return .leaseEnded }
            var failures: [LogPosition: PullSettlement.Failure] = [:]
            var unknown: [Int] = []
            let events = Set(lease.entries.map(\.event))
            for (index, failure) in failed.enumerated() {
                if let found = try work.transaction.event(app: app, id: failure.id), events.contains(found.sequence) {
                    failures[found.sequence] = .init(retryAfter: failure.retryAfter, reason: failure.reason)
                } else {
                    unknown.append(index)
                }
            }
            if !unknown.isEmpty { return .unknownEvents(unknown) }
            return .settled(
                try work.end(lease) { settlement in
                    settlement.acknowledge(failures) { Double.random(in: 0..<1) }
                })
        case .release(let id):
            guard let lease = try work.openLease(id) else { return .leaseEnded }
            return .settled(try work.end(lease) { $0.release() })
        case .extend(let id, let seconds):
            guard var lease = try work.openLease(id) else { return .leaseEnded }
            lease.expiresAt = min(work.now + Int64(seconds) * 1_000, lease.createdAt + PullLease.maxAge)
            try work.hold(lease)
            return .extended(lease)
        case .seek(let position):
            for lease in try work.transaction.leases(of: work.delegate.key, endedBy: .max, limit: PullLease.maxCount) {
                _ = try work.end(lease) { $0.release() }
            }
            // What follows is read again.
            for row in try work.rows(in: position + 1...(.max)) { work.checkpoint.ended.append(row.key) }
            work.position = position
            return .sought(LanePosition(delegate: work.delegate.key, cursor: position, position: position))
        }
    }

    private func claim(_ proposal: Proposal, _ work: inout Work) throws(StoreError) -> Outcome {
        let ended = try work.transaction.leases(
            of: work.delegate.key, endedBy: work.now, limit: Self.endedLeases)
        for lease in ended { _ = try work.end(lease) { $0.expire { Double.random(in: 0..<1) } } }
        if !ended.isEmpty || work.lane.position != proposal.from { return .moved(work.lane) }
        let isStrict = work.delegate.settings.ordering == .strict
        if try work.transaction.countLeases(of: work.delegate.key) >= (isStrict ? 1 : PullLease.maxCount) {
            let first = try work.transaction.leases(of: work.delegate.key, endedBy: .max, limit: 1).first
            return .isFull(until: first?.expiresAt ?? work.now)
        }
        guard try work.areDue(proposal) else { return .moved(work.lane) }
        for row in proposal.ended { work.checkpoint.waiting.append(row) }
        work.position = proposal.to
        if proposal.entries.isEmpty { return .moved(LanePosition(delegate: work.delegate.key, cursor: proposal.to, position: proposal.to)) }
        let lease = PullLease(
            delegate: work.delegate.key, id: work.context.ids.next("ls_", time: work.now), createdAt: work.now,
            expiresAt: work.now + Int64(proposal.ackSeconds) * 1_000, entries: proposal.entries)
        try work.hold(lease)
        return .claimed(lease)
    }
}

/// The changes of one write. The writer's thread.
private struct Work {
    let delegate: WebhookDelegate
    let lane: LanePosition
    let now: Int64
    let context: WriteContext
    let transaction: any StoreTransaction
    var position: LogPosition
    var checkpoint = Checkpoint()
    private var changesLeases = false

    init(
        delegate: WebhookDelegate, lane: LanePosition, now: Int64, _ context: WriteContext,
        _ transaction: any StoreTransaction
    ) {
        self.delegate = delegate
        self.lane = lane
        self.now = now
        self.context = context
        self.transaction = transaction
        position = lane.position
    }

    /// `nil` if the lease has ended.
    func openLease(_ id: String) throws(StoreError) -> PullLease? {
        guard let lease = try transaction.lease(id, of: delegate.key), lease.expiresAt > now else { return nil }
        return lease
    }

    func rows(in events: ClosedRange<LogPosition>) throws(StoreError) -> [WaitingDelivery] {
        try transaction.retrying(delegate.key, in: events, limit: .max)
    }

    /// The rows of a lease's events.
    private func rows(of lease: PullLease) throws(StoreError) -> [WaitingDelivery] {
        let events = lease.entries.filter(\.hasRow).map(\.event)
        guard let first = events.first, let last = events.last else { return [] }
        let meant = Set(events)
        return try rows(in: first...last).filter { meant.contains($0.event) }
    }

    /// Whether the rows of a proposal are as they were, and due. A new event must have no row.
    func areDue(_ proposal: PullWrite.Proposal) throws(StoreError) -> Bool {
        let events = proposal.entries.map(\.event) + proposal.ended.map(\.event)
        guard let first = events.min(), let last = events.max() else { return true }
        let found = Dictionary(try rows(in: first...last).map { ($0.event, $0) }) { $1 }
        return proposal.entries.allSatisfy { entry in
            entry.hasRow
                ? found[entry.event].map { $0.dueAt <= now && $0.attempts == entry.attempts } ?? false
                : found[entry.event] == nil && entry.event > lane.position
        } && proposal.ended.allSatisfy { found[$0.event].map { $0.dueAt <= now } ?? false }
    }

    /// Writes a lease, and lets its rows wait for its end.
    mutating func hold(_ lease: PullLease) throws(StoreError) {
        changesLeases = true
        for row in try rows(of: lease) {
            var held = WaitingDelivery(
                delegate: row.delegate, event: row.event, attempts: row.attempts, dueAt: lease.expiresAt,
                state: .retrying, isReplay: row.isReplay, isNamed: row.isNamed, uncounted: row.uncounted)
            held.isAlone = row.isAlone
            checkpoint.waiting.append(held)
        }
        try transaction.set(lease)
    }

    /// Ends a lease by one of the rules of `PullSettlement`.
    mutating func end(
        _ lease: PullLease, _ rule: (inout PullSettlement) -> Void
    ) throws(StoreError) -> PullWrite.Settled {
        changesLeases = true
        var settlement = PullSettlement(lease, of: delegate, rows: try rows(of: lease), now: now)
        rule(&settlement)
        try transaction.removeLease(lease.id, of: delegate.key)
        var part = settlement.checkpoint
        for (event, attempts) in settlement.exhausted {
            guard let (id, type) = try transaction.name(ofEvent: event), !ServiceFamily.isOne(type) else { continue }
            part.notices.append(
                DeliveryNotice(
                    delegate.key, .exhausted(event: event, eventID: id, eventType: type, attempts: attempts)))
        }
        // At once, so that later parts of the write see the rows.
        try transaction.write(part)
        notices += part.notices
        attemptBytes += part.attempts.reduce(0) { $0 + $1.storedBytes }
        return PullWrite.Settled(
            acknowledged: settlement.acknowledged, retrying: settlement.retrying,
            exhausted: settlement.exhausted.count)
    }

    private var notices: [DeliveryNotice] = []
    private var attemptBytes = 0

    func write(_ plan: inout WritePlan) throws(StoreError) {
        var checkpoint = checkpoint
        guard changesLeases || position != lane.position || !checkpoint.waiting.isEmpty else { return }
        let first = try transaction.firstLeased(of: delegate.key)
        let cursor = first.map { min($0 - 1, position) } ?? position
        let now = LanePosition(delegate: delegate.key, cursor: cursor, position: position)
        if now != lane { checkpoint.lanes = [now] }
        try transaction.write(checkpoint)
        try context.take(notices, transaction, &plan)
        plan.attemptBytes += attemptBytes
    }
}
