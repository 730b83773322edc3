import HeraldModel
import HeraldRuntime

/// The position of one delegate in the event log, with its open attempts and waiting deliveries.
///
/// It does no I/O: the delivery engine queries it, acts, and reports the results. It is confined to the thread of its
/// delivery loop and is not `Sendable`; other threads see its state in `LaneSnapshots`.
///
/// `next` says how far it has read:
///
/// - `nil`: the lane is *caught up*. The router offers it each new event; nothing is queued for it.
/// - a position: the lane is *behind*. It reads the log from there whenever it may start an attempt, until it is caught
///   up. A slow, paused or failing delegate costs only this number, however many events have been published since.
package final class Lane {
    let key: DelegateKey
    private(set) var delegate: WebhookDelegate
    private(set) var next: LogPosition?
    // The small properties come together, so that none of them is padded.
    /// The engine has removed the lane. Open attempts still refer to it.
    private(set) var isRemoved = false
    /// Changed since the last checkpoint.
    private var isTouched = false
    /// The state that the board shows, or will show before it shows that the loop has read further.
    var shown = LaneSnapshots.State.caughtUp
    /// Its shard is being given away: nothing is started any more.
    var isLeaving = false
    /// The common position of its shard is that of a detour.
    var isOnDetour = false
    /// Its shard was given away while an attempt was open. The outcome of that attempt is ignored.
    private(set) var isDisowned = false
    /// The receiver was found lost or gone: nothing is sent until the registry reports the delegate's new status.
    private(set) var isHalted = false
    /// It may start one attempt at its origin.
    var hasTurn = false
    /// It is queued for such a turn; see `OriginQueues`.
    var waitsForTurn = false
    var turns = SourceTurns()
    private var retriesInFlight: Int32 = 0
    /// Open attempts of event types that the receiver refuses.
    private(set) var refusedInFlight: Int32 = 0
    /// Open first attempts, ascending.
    private var inFlight: [LogPosition] = []
    /// When a refused type may be announced again; monotonic nanoseconds.
    var nextAnnouncement = Int64.min
    /// The measured rate of its origin; `nil` until the lane is in the table.
    var origin: OriginRate?
    /// The observed behavior of the receiver. A value that maintains its own state, except that the engine counts the held
    /// slots in it.
    @OnDemand var flow: FlowControl
    var waiting: WaitingDeliveries
    var replays = ReplayQueue()
    /// The last event that was started or skipped by reading.
    private(set) var position: LogPosition
    /// The index of the lane in the engine; `share` is that of its app in the scheduler.
    private(set) var index = 0
    private(set) var share = 0
    /// When the earliest timer of the lane fires, in monotonic nanoseconds.
    private var wakeTimer: Int64?
    /// Every event up to here is settled, even if the router is at an earlier position after a restart, or when the lane is taken.
    private let floor: LogPosition
    /// After a restart: events beyond the cursor that were settled before it.
    private var decided: Set<LogPosition>
    /// Events whose deliveries were given up although the lane still makes them: it had not read the event, or its first attempt, or
    /// that of a replay, was open.
    private(set) var givenUp: Set<LogPosition> = []
    /// Events that the lane reads again, and whose rows from before the start it has forgotten; see `LaneKeeper`.
    var forgotten: Set<LogPosition> = []
    /// Retention has ended the rows of all events up to this one, and removes these events.
    private(set) var trimmed: LogPosition = 0

    /// - Parameters:
    ///   - next: the position to read from; `nil` if the lane's position is the router's.
    ///   - position: the last event that was read; the events in `decided` were read as well.
    ///   - now: monotonic nanoseconds.
    ///   - nextProbe: when to probe a receiver that was failing before the restart, in monotonic nanoseconds.
    ///   - outage: for how long it was failing, in milliseconds.
    ///   - maxWaiting: of deliveries that wait for a retry; see `LoopLimits`.
    init(
        _ delegate: WebhookDelegate, next: LogPosition?, position: LogPosition, decided: Set<LogPosition> = [],
        now: Int64 = 0, nextProbe: Int64 = 0, outage: Int64 = 0, maxWaiting: Int = LoopLimits().waitingDeliveries
    ) {
        key = delegate.key
        self.delegate = delegate
        self.next = next
        waiting = WaitingDeliveries(delegate, limit: maxWaiting)
        self.position = max(position, decided.max() ?? position)
        self.decided = decided
        floor = max(delegate.start, next.map { $0 - 1 } ?? position)
        if let since = delegate.state.failingSince {
            flow = FlowControl(failingSince: since, age: outage, now: now, nextProbe: nextProbe)
        }
    }

    /// Called when the engine has added the lane.
    func join(_ index: Int, share: Int) { (self.index, self.share) = (index, share) }

    func leave() { isRemoved = true }

    func disown() { isDisowned = true }

    /// - Returns: whether this is the first change since the last checkpoint.
    func touch() -> Bool {
        defer { isTouched = true }
        return !isTouched
    }

    /// - Returns: whether it had changed.
    func untouch() -> Bool {
        defer { isTouched = false }
        return isTouched
    }

    /// Gives the lane the delegate's new settings.
    func change(to delegate: WebhookDelegate) {
        let old = self.delegate
        self.delegate = delegate
        // A status that the lane found out holds until the registry has recorded it: the change may have been made
        // before. The writer ignores what the lane found out about another address.
        if old.status != .active || delegate.status != .active || old.settings.url != delegate.settings.url {
            isHalted = false
        }
        expectRecovery(old)
        if delegate.settings.rateLimit != old.settings.rateLimit { flow.rateLimitChanged() }
        if delegate.settings.ordering != old.settings.ordering {
            waiting.reorder(delegate.settings.ordering)
            reorderWhenIdle()
        }
    }

    /// Setting another URL, or resuming the delegate, implies that the receiver works again: no probe has to precede
    /// attempts.
    private func expectRecovery(_ old: WebhookDelegate) {
        let isElsewhere = delegate.settings.url != old.settings.url
        // With the same version, the change is the lane's own report coming back.
        let isForgiven =
            delegate.version != old.version && old.state.failingSince != nil && delegate.state.failingSince == nil
        let isResumed = old.status != .active && delegate.status == .active
        guard isElsewhere || isForgiven || isResumed else { return }
        if isElsewhere || isForgiven || old.status == .disabled || old.status == .gone {
            flow.forget()
        } else {
            flow.expectRecovery()
        }
    }

    var isActive: Bool { delegate.status == .active && !isHalted && !isLeaving }
    /// Its deliveries have ended.
    var isGone: Bool { delegate.status == .gone }
    var ordering: WebhookSettings.Ordering { delegate.settings.ordering }
    var open: Int { inFlight.count + Int(retriesInFlight) + replays.open }
    /// It has nothing to send, now or later, that it knows of.
    var isIdle: Bool { next == nil && rows.isEmpty && waiting.count <= 0 && open == 0 && replays.isEmpty }
    /// There is something to send, if the limits allow it.
    var hasWork: Bool { next != nil || waiting.dueCount > 0 || replays.hasWork }
    /// A retry is due that is to start before a new event.
    var hasDueRetry: Bool { waiting.promisingCount > 0 }
    /// Caught up and without open first attempts: the lane is at the common position.
    var isSettled: Bool { next == nil && inFlight.isEmpty }

    /// Every event up to here is settled, or has its own row.
    /// - Precondition: not `isSettled`; a settled lane is at the common position.
    var cursor: LogPosition { min(inFlight.first ?? .max, next ?? .max) - 1 }

    /// Events that the lane has not read and will not start when it does: settled before a restart, or with a row.
    var ahead: Set<LogPosition> {
        guard let next, !(decided.isEmpty && rows.isEmpty) else { return [] }
        return decided.filter { $0 >= next }.union(rows.keys.filter { $0 >= next })
    }

    // MARK: Selecting events

    /// Whether the delegate's current settings call for a delivery of this event.
    /// - Parameter isRouted: the router found the lane by the event's type.
    func wants(_ event: Event, _ sequence: LogPosition, isRouted: Bool, _ view: () -> EventView) -> Bool {
        guard isWanted(event, sequence, isRouted: isRouted, view) else { return false }
        if !forgotten.isEmpty { forgotten.remove(sequence) }
        return decided.isEmpty || decided.remove(sequence) == nil
    }

    /// Whether the lane still has to deliver the event; does not record that a settled event was read.
    func isWanted(_ event: Event, _ sequence: LogPosition, isRouted: Bool, _ view: () -> EventView) -> Bool {
        sequence > floor && delegate.selection.matches(event, isRouted: isRouted, view)
    }

    /// Whether the lane would have started this event if it were still in the log.
    func misses(_ event: Event, _ sequence: LogPosition, isRouted: Bool, _ view: () -> EventView) -> Bool {
        guard let next, rows[sequence] == nil, hasAhead(sequence, from: next) else { return false }
        return isWanted(event, sequence, isRouted: isRouted, view)
    }

    /// Whether a replay leaves a delivery out: it has its own row, or the lane has yet to make it in its order.
    /// - Parameter offered: the last event that lanes without a position of their own were offered.
    func makesAnyway(_ sequence: LogPosition, offered: LogPosition) -> Bool {
        rows[sequence] != nil || waiting.isFoundInStore(sequence)
            || ordering != .none && hasAhead(sequence, from: next ?? offered + 1)
    }

    private func hasAhead(_ sequence: LogPosition, from next: LogPosition) -> Bool {
        next <= sequence && sequence > floor && !decided.contains(sequence)
    }

    /// Whether another attempt may start now.
    func mayStart(now: Int64) -> Bool {
        guard isActive, !waiting.isReordering else { return false }
        return flow.mayStart(open: open, limits, now: now)
    }

    /// Whether it would start an attempt now if it had its turn.
    func isReady(now: Int64) -> Bool { hasWork && mayStart(now: now) }

    /// When an attempt may start, if only time prevents it now; monotonic nanoseconds.
    func startTime(now: Int64) -> Int64? {
        guard isActive, !waiting.isReordering, hasWork else { return nil }
        return flow.startTime(open: open, limits, now: now)
    }

    var limits: FlowControl.Limits {
        .init(
            maxInFlight: ordering == .strict ? 1 : delegate.settings.maxInFlight,
            rateLimit: delegate.settings.rateLimit,
            patience: Int64(delegate.settings.disableAfterSeconds) * 1_000)
    }

    /// Only probes are sent.
    var isFailing: Bool { flow.breaker.isOpen }

    /// Returns the source of the next attempt, if the limits allow one. Retries and first attempts alternate, and so do the log and a
    /// replay.
    func nextSource() -> Source? {
        let promising = waiting.firstDue()
        let retry = promising ?? (mayTryRefused ? waiting.firstRefused() : nil)
        // A failing receiver is not probed with an event that it refuses anyway, while there are others.
        if let retry, promising != nil || !isFailing, turns.isRetrys(isFailing: isFailing) { return .retry(retry) }
        let replay = waiting.isFull ? nil : replays.next(oneByOne: ordering != .none)
        if let next, mayTakeNewEvent, !(turns.replayIsNext && replay != nil) { return .log(next) }
        return replay.map(Source.replay) ?? retry.map(Source.retry)
    }

    /// Gives a row to a new event that waits, without an attempt, for as long as after the first attempt.
    /// - Returns: the plan for its first attempt, and the nanoseconds until then.
    func postpone(_ event: Event, _ sequence: LogPosition) -> (turn: UInt32, delay: Int64) {
        position = max(position, sequence)
        waiting.keep(sequence, attempts: 0, isFirst: true, isRefused: true, subject: event.subject)
        let seconds = delegate.settings.retrySchedule.first ?? WebhookSettings.defaultRetrySchedule.first ?? 0
        return (waiting.replan(sequence) ?? 0, Int64(seconds * 1_000_000_000))
    }

    var mayTakeNewEvent: Bool {
        guard !waiting.isFull else { return false }
        return ordering != .strict || open == 0 && waiting.stored == nil && !rows.values.contains { $0.isFirst }
    }

    // MARK: Reading

    /// The lane cannot take this event now: it reads the log itself from there.
    func fallBehind(from sequence: LogPosition) {
        if next == nil { next = sequence }
    }

    /// Records that the lane has read this event and all before it.
    func pass(_ sequence: LogPosition) {
        next = sequence + 1
        // After a restart the lane may read events again.
        position = max(position, sequence)
    }

    /// Records that the lane has reached the end of the log. The router offers it the next events.
    func catchUp() {
        // After a restart the router may be behind the lane: events settled beyond it remain settled.
        if !decided.isEmpty, let next { decided = decided.filter { $0 >= next } }
        if !givenUp.isEmpty { givenUp.formIntersection(inFlight + replays.inFlight) }
        if !forgotten.isEmpty, let next { forgotten = forgotten.filter { $0 >= next } }
        next = nil
    }

    /// Called before retention removes all events up to this one.
    /// - Returns: whether the lane had not reached some of them.
    func trim(through last: LogPosition) -> Bool {
        trimmed = max(trimmed, last)
        if !givenUp.isEmpty { givenUp = givenUp.filter { $0 > last } }
        if !forgotten.isEmpty { forgotten = forgotten.filter { $0 > last } }
        return skip(0..<last + 1)
    }

    /// Passes positions that are no longer in the log.
    /// - Returns: whether the lane or its replay was about to read one of them.
    func skip(_ gap: Range<LogPosition>) -> Bool {
        var hasMoved = replays.skip(gap)
        if let next, gap.contains(next) {
            pass(gap.upperBound - 1)
            hasMoved = true
        }
        return hasMoved
    }

    // MARK: Changes by the engine

    /// Sends nothing until the registry reports the delegate's new status.
    func halt() { isHalted = true }

    /// Ends all deliveries of the lane.
    /// - Returns: the deliveries that waited, by event, and the replays that had not ended.
    func end() -> (waiting: [(LogPosition, WaitingDeliveries.Row)], replays: [Int64]) {
        givenUp.formUnion(inFlight + replays.inFlight)
        defer { (replays, next) = (ReplayQueue(), nil) }
        return (waiting.removeAll(), replays.all.map(\.id))
    }

    /// - Returns: whether to set a timer for this time; `false` if an earlier one is set.
    func wake(at time: Int64) -> Bool {
        if let wakeTimer, wakeTimer <= time { return false }
        wakeTimer = time
        return true
    }

    func woke() { wakeTimer = nil }

    // MARK: Deliveries with their own row

    var rows: [LogPosition: WaitingDeliveries.Row] { waiting.rows }

    /// Whether a retry is the newest plan of its row.
    func isPlanned(_ retry: Retry) -> Bool { waiting.retry(retry.event) == retry }

    /// See `WaitingDeliveries`.
    func adopt(_ sequence: LogPosition) -> Bool {
        guard waiting.adopt(sequence) else { return false }
        position = max(position, sequence)
        return true
    }

    /// See `WaitingDeliveries`.
    func mustWait(_ event: Event, _ sequence: LogPosition, isReplay: Bool) -> Bool {
        guard waiting.mustWait(sequence, event.subject, isReplay: isReplay) else { return false }
        if !isReplay { position = max(position, sequence) }
        return true
    }

    // MARK: Attempts

    /// Records that an attempt starts.
    /// - Parameter type: the event type.
    @discardableResult
    func started(_ sequence: LogPosition, _ origin: Origin, type: String = "", now: Int64) -> FlowControl.Start {
        switch origin {
        case .log:
            inFlight.append(sequence)
            position = max(position, sequence)
        case .retry:
            waiting.started(sequence)
            retriesInFlight += 1
        case .replay: replays.started(sequence)
        }
        turns.started(origin)
        var start = flow.started(limits, now: now)
        start.isRefused = flow.refuses(type, now: now)
        if start.isRefused { refusedInFlight += 1 }
        return start
    }

    /// Undoes the start of an attempt that was not made; its delivery waits.
    /// - Parameter isEnded: the event was erased, or the delivery cancelled, since the start.
    /// - Returns: the turn of its row; `nil` if it has no row any more, or one with its own plan.
    func returned(
        _ sequence: LogPosition, _ origin: Origin, subject: String?, isEnded: Bool, start: FlowControl.Start
    ) -> UInt32? {
        close(sequence, origin, start)
        flow.returned(start)
        defer { reorderWhenIdle() }
        if isGone { return nil }
        if isEnded || origin == .retry && rows[sequence] == nil {
            waiting.release(subject)
            return nil
        }
        if origin != .retry {
            if waiting.goesOn(sequence, isFirst: origin == .log, subject: subject) { return nil }
            waiting.keep(sequence, attempts: 0, isFirst: origin == .log, subject: subject)
        }
        return waiting.replan(sequence)
    }

    /// Records that an attempt has ended, and settles its delivery.
    func finished(_ end: End) -> (settlement: Settlement, breaker: Breaker.Change) {
        close(end.sequence, end.origin, end.start)
        defer { reorderWhenIdle() }
        let isOutdated = flow.isOutdated(end.start)
        if end.outcome.isSuccess {
            let change = isOutdated ? .none : flow.succeeded(end.start, type: end.type, limits, now: end.now)
            // A row that was made during the attempt requests another delivery. That of a replayed one may be only in the store.
            let isAgain = rows[end.sequence] != nil || end.isRequested
            if isAgain ? end.origin == .retry : end.origin != .log { waiting.remove(end.sequence) }
            waiting.release(end.subject)
            return (.delivered, change)
        }
        if end.outcome.isGone, !isOutdated { return (giveUp(end, .dropped(attempts: end.attempts + 1)), .none) }
        if isOutdated || !end.outcome.isEvidence {
            flow.returned(end.start)
            return (settlement(ofFailure: end, .none), .none)
        }
        let change = flow.failed(
            end.start, end.sequence, type: end.type, isAlone: ordering == .strict, end.outcome, limits, now: end.now,
            wall: end.wall, random: end.random, reserve: { end.reserve($0, delegate.app) })
        if change == .opened { turns.opened() }
        return (settlement(ofFailure: end, change), change)
    }

    private func close(_ sequence: LogPosition, _ origin: Origin, _ start: FlowControl.Start) {
        if start.isRefused { refusedInFlight -= 1 }
        switch origin {
        case .log:
            if let place = inFlight.firstIndex(of: sequence) { inFlight.remove(at: place) }
        case .retry:
            retriesInFlight -= 1
            waiting.ended(sequence)
        case .replay(let id): replays.ended(sequence, of: id)
        }
    }

    private func reorderWhenIdle() {
        if waiting.isReordering, open == 0 { waiting.becameIdle() }
    }

    /// Records that the store has a final row for this delivery.
    /// - Returns: whether the lane has read the event, and does not make the delivery any more.
    @discardableResult
    func gaveUp(_ event: LogPosition) -> Bool {
        let isUnread = next.map { $0 <= event } ?? (isOnDetour && event > position)
        let isMade = isUnread || inFlight.contains(event)
        if isMade || replays.inFlight.contains(event) { givenUp.insert(event) }
        return !isMade && event <= position
    }

    /// Ends the delivery of an event whose row from before the start was forgotten, before the lane reads it again.
    /// - Returns: `false` if there is no such event.
    func settleForgotten(_ event: LogPosition) -> Bool {
        guard forgotten.remove(event) != nil else { return false }
        decided.insert(event)
        return true
    }

    /// Whether the store may have a final row for a delivery that the lane has just made.
    func takeGivenUp(_ event: LogPosition) -> Bool { !givenUp.isEmpty && givenUp.remove(event) != nil }

    /// Whether an attempt for this event is open.
    func hasOpen(_ sequence: LogPosition) -> Bool {
        inFlight.contains(sequence) || rows[sequence]?.isOpen == true
    }
}
