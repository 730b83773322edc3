import HeraldDelivery
import HeraldModel
import HeraldRuntime

/// The lane of a pull delegate and its leases, as one write changes them. The writer's thread.
struct PullLane {
    let delegate: WebhookDelegate
    let now: Int64
    let transaction: any StoreTransaction
    let context: WriteContext
    /// Events that this transaction, or the last ones, have erased: memory may have them as they were.
    let erased: ErasedEvents
    /// As it was before the write.
    let lane: LanePosition
    /// The position of the last event that was pulled.
    var position: LogPosition
    /// Rows that the write changes besides those of leases.
    var checkpoint = Checkpoint()
    var change: PullChange
    private var changesLeases = false
    /// The lease that the step names, until it ends or is written.
    private var named: PullLease?
    /// The leases besides it, and besides the freed one; `nil` if the write has changed them.
    private var others: LeaseTotals?
    /// A lease that has ended and still has its row, which the next one that is held takes over.
    private var freed: String?
    /// The leases that one transaction releases: up to 1,000 rows each.
    private static let releasedLeases = 8
    private var notices: [DeliveryNotice] = []
    private var attemptBytes = 0

    init(
        _ delegate: WebhookDelegate, _ state: PullState, _ context: WriteContext, _ transaction: any StoreTransaction,
        erased: ErasedEvents
    ) {
        self.erased = erased
        self.delegate = delegate
        lane = state.lane
        named = state.lease
        others = state.others
        self.context = context
        self.transaction = transaction
        now = context.clock.wall()
        position = lane.position
        change = PullChange(delegate: delegate.key, app: delegate.app)
    }

    // MARK: Reading

    /// The lease that the step names; `nil` if it has ended.
    var openLease: PullLease? { named.flatMap { $0.expiresAt > now ? $0 : nil } }

    /// The leases that are not settled.
    mutating func leaseTotals() throws(StoreError) -> LeaseTotals {
        if others == nil {
            let state = try transaction.pullState(of: delegate.key, lease: freed ?? named?.id)
            others = state?.others ?? LeaseTotals()
        }
        var totals = others ?? LeaseTotals()
        if let named { totals.add(named) }
        return totals
    }

    func names(of lease: PullLease) throws(StoreError) -> [LogPosition: EventName] {
        if let names = recentNames(of: lease) { return names }
        return try transaction.names(of: lease.entries.map(\.event))
    }

    /// A consumer that keeps up settles events that memory still has. `nil` if it lacks some.
    private func recentNames(of lease: PullLease) -> [LogPosition: EventName]? {
        guard let first = lease.entries.first?.event, let last = lease.entries.last?.event,
            last - first < LogPosition(PullLease.maxEvents)
        else { return nil }
        let count = Int(last - first) + 1
        guard case .events(let batch) = context.committed.recentEvents.slice(after: first - 1, limit: count),
            batch.events.count == count
        else { return nil }
        return lease.entries.reduce(into: [:]) { names, entry in
            let event = batch.events[Int(entry.event - first)]
            names[entry.event] = EventName(id: event.id, type: event.type, isErased: event.isErased)
        }
    }

    /// The rows of a lease's events that wait for a retry.
    /// - Parameter all: with those of events that had none when the lease began, also if they have ended since.
    private func rows(of lease: PullLease, all: Bool = false) throws(StoreError) -> [WaitingDelivery] {
        let rows = try transaction.retrying(delegate.key, lease.entries.filter(\.hasRow).map(\.event))
        if !all { return rows }
        let others = try transaction.waiting(delegate.key, lease.entries.filter { !$0.hasRow }.map(\.event))
        // An event that the delegate wants since may have an older row of a redelivery.
        return rows + others.filter { $0.state == .retrying || $0.dueAt >= lease.createdAt }
    }

    /// Whether the rows of a proposal are as they were, and due. A new event must have no row.
    func areDue(_ proposal: PullWrite.Proposal) throws(StoreError) -> Bool {
        let events = proposal.entries.map(\.event) + proposal.ended.map(\.event)
        let found = Dictionary(try transaction.retrying(delegate.key, events).map { ($0.event, $0) }) { $1 }
        return proposal.entries.allSatisfy { entry in
            entry.hasRow
                ? found[entry.event].map { $0.dueAt <= now && $0.attempts == entry.attempts } ?? false
                : found[entry.event] == nil && entry.event > lane.position
        } && proposal.ended.allSatisfy { found[$0.event].map { $0.dueAt <= now } ?? false }
    }

    // MARK: Leases

    /// Writes a new lease, and lets its rows wait for its end.
    mutating func hold(_ lease: PullLease) throws(StoreError) { try hold(lease, try rows(of: lease)) }

    /// - Returns: the lease with its new end.
    mutating func extend(_ lease: PullLease, to end: Int64) throws(StoreError) -> PullLease {
        var extended = lease
        extended.expiresAt = end
        try hold(extended, lease.own(try rows(of: lease)))
        return extended
    }

    private mutating func hold(_ lease: PullLease, _ rows: [WaitingDelivery]) throws(StoreError) {
        changesLeases = true
        for row in rows {
            var held = WaitingDelivery(
                delegate: row.delegate, event: row.event, attempts: row.attempts, dueAt: lease.expiresAt,
                state: .retrying, isReplay: row.isReplay, isNamed: row.isNamed, uncounted: row.uncounted)
            held.isAlone = row.isAlone
            checkpoint.waiting.append(held)
        }
        named = lease
        guard let freed else { return try transaction.set(lease) }
        try transaction.set(lease, replacing: freed)
        self.freed = nil
    }

    /// Ends a lease by one of the rules of `PullSettlement`.
    /// - Parameters:
    ///   - names: of its events.
    ///   - isWhole: the rule acknowledges all events.
    ///   - keepsRow: the next lease that is held takes its row over. At most one in a write.
    mutating func end(
        _ lease: PullLease, _ names: [LogPosition: EventName], isWhole: Bool = false, keepsRow: Bool = false,
        _ rule: (inout PullSettlement) -> Void
    ) throws(StoreError) -> PullWrite.Settled {
        changesLeases = true
        // Of an erased event nothing is recorded: what a consumer says of it would bring back what the erasure removed. Nor is of
        // one that retention has removed: a lease of deliveries with rows may have some.
        let remaining = PullLease(
            delegate: lease.delegate, id: lease.id, createdAt: lease.createdAt, expiresAt: lease.expiresAt,
            entries: lease.entries.filter { !erased.contains($0.event) && names[$0.event]?.isErased == false })
        var settlement = PullSettlement(
            remaining, of: delegate, rows: try rows(of: remaining, all: !isWhole), now: now)
        rule(&settlement)
        if named?.id == lease.id { named = nil } else { others = nil }
        if keepsRow { freed = lease.id } else { try transaction.removeLease(lease.id, of: delegate.key) }
        var part = settlement.checkpoint
        for (event, attempts) in settlement.exhausted {
            guard let name = names[event], !ServiceFamily.isOne(name.type) else { continue }
            part.notices.append(
                DeliveryNotice(
                    delegate.key, .exhausted(event: event, eventID: name.id, eventType: name.type, attempts: attempts)))
        }
        // At once, so that later parts of the write see the rows.
        try transaction.write(part)
        notices += part.notices
        for attempt in part.attempts {
            attemptBytes += attempt.storedBytes
            change.count(attempt, of: names[attempt.event]?.type)
        }
        change.exhausted += settlement.exhausted.count
        // In order, the next run waits for the end of the lease.
        if !part.waiting.isEmpty || delegate.settings.ordering == .strict { change.returnsEvents = true }
        return PullWrite.Settled(
            acknowledged: settlement.acknowledged + lease.entries.count - remaining.entries.count,
            retrying: settlement.retrying,
            exhausted: settlement.exhausted.count, returned: settlement.returned)
    }

    /// Gives back the events of some leases that have one up to a position.
    /// - Returns: the number of their events.
    mutating func release(through last: LogPosition) throws(StoreError) -> Int {
        let leases = try transaction.leases(of: delegate.key, through: last, limit: Self.releasedLeases)
        for lease in leases { _ = try end(lease, try names(of: lease)) { $0.release() } }
        return leases.reduce(0) { $0 + $1.entries.count }
    }

    /// Moves the position. All leases end. What waits for a retry is dropped if it is not behind the position. What is behind it is
    /// read again, also what was given up.
    mutating func begin(after position: LogPosition) throws(StoreError) {
        changesLeases = true
        (named, others) = (nil, LeaseTotals())
        self.position = position
        try transaction.forget(delegate.key, after: position, at: now)
        change.returnsEvents = true
        change.isSought = true
    }

    mutating func notify(_ notice: DeliveryNotice.Kind) { notices.append(DeliveryNotice(delegate.key, notice)) }

    // MARK: Writing

    /// Writes what has changed, and the lane.
    mutating func write(_ plan: inout WritePlan) throws(StoreError) {
        let moves = position != lane.position
        guard changesLeases || moves || !checkpoint.waiting.isEmpty || !checkpoint.ended.isEmpty || !notices.isEmpty
        else { return }
        checkpoint.isOfPull = true
        if let freed { try transaction.removeLease(freed, of: delegate.key) }
        let cursor = min(position, try leaseTotals().firstEvent.map { $0 - 1 } ?? position)
        let now = LanePosition(delegate: delegate.key, cursor: cursor, position: position)
        if now != lane { checkpoint.lanes = [now] }
        if position < lane.position { change.returnsEvents = true }
        try transaction.write(checkpoint)
        try context.take(notices, transaction, &plan)
        plan.attemptBytes += attemptBytes
        plan.effects.append(.pulled(change))
    }
}
