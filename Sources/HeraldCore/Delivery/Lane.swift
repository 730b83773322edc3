import HeraldRuntime

/// The position of one delegate in the event log, with what is in flight and what waits for a retry.
///
/// It does no I/O: the delivery engine asks it, acts, and reports back. It belongs to one thread, that of the delivery loop
/// whose engine made it, and is not `Sendable`: others see it as the engine describes it in `LaneSnapshots`.
///
/// `next` says how far it is:
///
/// - `nil`: the lane is *caught up*. The router offers it each new event; nothing is queued for it.
/// - a sequence: the lane is *behind*. It reads the log by itself from there when it may start something, until it is
///   caught up. A slow, paused or failing delegate costs this number, whatever has been published since.
final class Lane {
    let key: DelegateKey
    private(set) var delegate: WebhookDelegate
    private(set) var next: LogPosition?
    /// First tries that are open, ascending.
    private var inFlight: [LogPosition] = []
    private var retriesInFlight = 0
    /// What is known of the receiver. A value that guards its own state; the engine counts in it which slots are held.
    var flow = FlowControl()
    private var waiting: WaitingDeliveries
    private(set) var replays = ReplayQueue()
    /// The last event that was started or passed over by reading.
    private(set) var position: LogPosition
    /// Its place in the engine, and that of its app in the scheduler.
    private(set) var index = 0
    private(set) var share = 0
    /// The engine has forgotten it. Attempts that are open still know it.
    private(set) var isRemoved = false
    /// It has changed since the last checkpoint.
    private var isTouched = false
    /// Nothing is sent until the registry says what became of the delegate: it has been found lost.
    private(set) var isHalted = false
    /// Its deliveries have ended.
    private(set) var isGone: Bool
    /// When a timer is to wake it, in monotonic nanoseconds.
    private var wakeTimer: Int64?
    private var turns = SourceTurns()
    /// Up to here everything is settled, also when the router's position is behind it after a restart.
    private let floor: LogPosition
    /// After a restart: events beyond the cursor that were settled before it.
    private var decided: Set<LogPosition>

    /// - Parameters:
    ///   - next: where to read from, `nil` when the router's position is the lane's.
    ///   - position: the last event that was looked at; those of `decided` were as well.
    ///   - now: monotonic nanoseconds.
    ///   - nextProbe: when to try a delegate that was failing before the restart, in monotonic nanoseconds.
    init(
        _ delegate: WebhookDelegate, next: LogPosition?, position: LogPosition, decided: Set<LogPosition> = [],
        now: Int64 = 0, nextProbe: Int64 = 0
    ) {
        key = delegate.key
        self.delegate = delegate
        self.next = next
        waiting = WaitingDeliveries(delegate)
        self.position = max(position, decided.max() ?? position)
        self.decided = decided
        floor = max(delegate.start, next.map { $0 - 1 } ?? 0)
        isGone = delegate.status == .gone
        if let since = delegate.state.failingSince {
            flow = FlowControl(failingSince: since, now: now, nextProbe: nextProbe)
        }
    }

    /// The engine has taken it up.
    func join(_ index: Int, share: Int) { (self.index, self.share) = (index, share) }

    func leave() { isRemoved = true }

    /// - Returns: whether it had not changed since the last checkpoint before.
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
        // What the lane has found out holds until the registry has heard of it: a change may have crossed the news.
        if old.status == .gone || delegate.status == .gone { isGone = delegate.status == .gone }
        if old.status != .active || delegate.status != .active { isHalted = false }
        expectRecovery(old)
        if delegate.settings.rateLimit != old.settings.rateLimit { flow.rateLimitChanged() }
        if delegate.settings.ordering != old.settings.ordering {
            waiting.reorder(delegate.settings.ordering)
            reorderWhenIdle()
        }
    }

    /// An operator who gives it another address, or resumes it, says that it works: it need not wait for a probe.
    private func expectRecovery(_ old: WebhookDelegate) {
        let isElsewhere = delegate.settings.url != old.settings.url
        // With the same version it is an echo of what the lane itself has told.
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

    var isActive: Bool { delegate.status == .active && !isHalted && !isGone }
    private var ordering: WebhookSettings.Ordering { delegate.settings.ordering }
    var open: Int { inFlight.count + retriesInFlight + replays.open }
    /// There is something to send, if it may.
    var hasWork: Bool { next != nil || waiting.dueCount > 0 || replays.hasWork }
    var hasDueRetry: Bool { waiting.dueCount > 0 }
    /// Neither behind nor with anything open: at the common position.
    var isSettled: Bool { next == nil && inFlight.isEmpty }

    /// Everything up to here is settled, or has a row of its own.
    /// - Precondition: not `isSettled`: then it is the common position.
    var cursor: LogPosition { min(inFlight.first ?? .max, next ?? .max) - 1 }

    /// Events that it has not come to, and starts nothing for when it does: settled before a restart, or with a row.
    var ahead: Set<LogPosition> {
        guard let next, !(decided.isEmpty && rows.isEmpty) else { return [] }
        return decided.filter { $0 >= next }.union(rows.keys.filter { $0 >= next })
    }

    // MARK: Deciding

    /// Whether this delegate is to be told of this event, by its settings of the moment.
    /// - Parameter isRouted: the router has found the lane by the event's type.
    func wants(_ event: Event, _ sequence: LogPosition, isRouted: Bool, _ view: () -> EventView) -> Bool {
        guard isWanted(event, sequence, isRouted: isRouted, view) else { return false }
        return decided.isEmpty || decided.remove(sequence) == nil
    }

    /// The same, without noting that a settled event was seen.
    func isWanted(_ event: Event, _ sequence: LogPosition, isRouted: Bool, _ view: () -> EventView) -> Bool {
        sequence > floor && delegate.selection.matches(event, isRouted: isRouted, view)
    }

    /// Whether the lane would have started this event, had it not left the log before.
    func misses(_ event: Event, _ sequence: LogPosition, isRouted: Bool, _ view: () -> EventView) -> Bool {
        guard let next, next <= sequence, rows[sequence] == nil, !decided.contains(sequence) else { return false }
        return isWanted(event, sequence, isRouted: isRouted, view)
    }

    /// Whether another attempt may start now.
    func mayStart(now: Int64) -> Bool {
        guard isActive, !waiting.isReordering else { return false }
        return flow.mayStart(open: open, limits, now: now)
    }

    /// When an attempt may start that only time keeps from starting; monotonic nanoseconds.
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

    /// Nothing is sent but probes.
    var isFailing: Bool { flow.breaker.isOpen }

    /// What to start next, when it may. Retries and first tries take turns, and so do the log and a replay.
    func nextSource() -> Source? {
        let retry = waiting.firstDue()
        if let retry, turns.isRetrys(isFailing: isFailing) { return .retry(retry) }
        let replay = waiting.isFull ? nil : replays.next(oneByOne: ordering != .none)
        if let next, mayTakeNewEvent, !(turns.replayIsNext && replay != nil) { return .log(next) }
        return replay.map(Source.replay) ?? retry.map(Source.retry)
    }

    var mayTakeNewEvent: Bool {
        guard !waiting.isFull else { return false }
        return ordering != .strict || open == 0 && !rows.values.contains { $0.isFirst }
    }

    // MARK: Reading

    /// The lane can't take this event now: it goes on from there by itself.
    func fallBehind(from sequence: LogPosition) {
        if next == nil { next = sequence }
    }

    /// The lane has looked at this event, and at all before it.
    func pass(_ sequence: LogPosition) {
        next = sequence + 1
        // After a restart it comes by events again that it had looked at.
        position = max(position, sequence)
    }

    /// The end of the log is reached: from here on the router offers.
    func catchUp() {
        // After a restart the router may be behind the lane: what was settled beyond it stays so.
        if !decided.isEmpty, let next { decided = decided.filter { $0 >= next } }
        next = nil
    }

    /// The log begins here now.
    /// - Returns: the first event that the lane has missed by that, if any.
    func trim(first: LogPosition) -> LogPosition? {
        replays.trim(first: first)
        guard let next, next < first else { return nil }
        pass(first - 1)
        return next
    }

    // MARK: The engine's requests

    /// Nothing is sent until the registry says what became of the delegate.
    func halt() { isHalted = true }

    /// Its deliveries have ended.
    /// - Returns: those that waited, by their events, and the replays that were under way.
    func end() -> (waiting: [(LogPosition, WaitingDeliveries.Row)], replays: [Int64]) {
        defer {
            replays = ReplayQueue()
            next = nil
            isGone = true
        }
        return (waiting.removeAll(), replays.all.map(\.id))
    }

    /// - Returns: whether a timer is to wake it then; `false`: an earlier one will.
    func wake(at time: Int64) -> Bool {
        if let wakeTimer, wakeTimer <= time { return false }
        wakeTimer = time
        return true
    }

    func woke() { wakeTimer = nil }

    func withReplays<Answer>(_ change: (inout ReplayQueue) -> Answer) -> Answer { change(&replays) }

    // MARK: Deliveries with a row of their own

    var rows: [LogPosition: WaitingDeliveries.Row] { waiting.rows }

    /// Takes up a row; see `WaitingDeliveries`.
    func take(_ delivery: WaitingDelivery) -> Retry? { waiting.take(delivery) }

    /// A retry is due; it starts as soon as it may.
    func hold(_ retry: Retry) { waiting.hold(retry) }

    /// The lane comes by an event that has a row already.
    /// - Returns: whether it has one.
    func adopt(_ sequence: LogPosition) -> Bool {
        guard waiting.adopt(sequence) else { return false }
        position = max(position, sequence)
        return true
    }

    /// An event about a subject whose turn it is not.
    /// - Returns: whether the delivery got a row and stands in line; else it may start.
    func mustWait(_ event: Event, _ sequence: LogPosition, isReplay: Bool) -> Bool {
        guard waiting.mustWait(sequence, event.subject, isReplay: isReplay) else { return false }
        if !isReplay { position = max(position, sequence) }
        return true
    }

    /// Ends a delivery by request.
    /// - Returns: the row that it had, if any.
    func drop(_ sequence: LogPosition) -> WaitingDeliveries.Row? { waiting.drop(sequence) }

    // MARK: Attempts

    /// An attempt starts.
    @discardableResult
    func started(_ sequence: LogPosition, _ origin: Origin, now: Int64) -> FlowControl.Start {
        switch origin {
        case .log:
            inFlight.append(sequence)
            position = max(position, sequence)
        case .retry:
            waiting.started(sequence)
            retriesInFlight += 1
        case .replay: replays.started(sequence)
        }
        turns.started(origin, due: waiting.dueCount)
        return flow.started(limits, now: now)
    }

    /// An attempt was not made after all; its delivery waits.
    /// - Returns: the turn of its row; `nil`: it has none any more, or one with a plan of its own.
    func returned(_ sequence: LogPosition, _ origin: Origin, subject: String?, start: FlowControl.Start) -> UInt32? {
        close(sequence, origin)
        flow.returned(start)
        defer { reorderWhenIdle() }
        if isGone { return nil }
        if origin == .retry, rows[sequence] == nil {
            waiting.release(subject)
            return nil
        }
        if origin != .retry {
            if waiting.goesOn(sequence, isFirst: origin == .log, subject: subject) { return nil }
            waiting.keep(sequence, attempts: 0, isFirst: origin == .log, subject: subject)
        }
        return waiting.replan(sequence)
    }

    /// An attempt has ended.
    func finished(_ end: End) -> (settlement: Settlement, breaker: Breaker.Change) {
        close(end.sequence, end.origin)
        defer { reorderWhenIdle() }
        if end.outcome.isSuccess {
            let change = flow.succeeded(end.start, limits, now: end.now)
            // A row that was made meanwhile asks for another delivery.
            if end.origin == .retry { waiting.remove(end.sequence) }
            waiting.release(end.subject)
            return (.delivered, change)
        }
        if end.outcome.isGone { return (giveUp(end, .dropped(attempts: end.attempts + 1)), .none) }
        let change = flow.failed(
            end.start, end.sequence, isAlone: ordering == .strict, end.outcome, limits, now: end.now,
            wall: end.wall, random: end.random, reserve: end.reserve)
        if change == .opened { turns.opened() }
        return (settlement(ofFailure: end, change), change)
    }

    private func settlement(ofFailure end: End, _ change: Breaker.Change) -> Settlement {
        // A retry without a row was ended by request while it was under way.
        let isDropped = end.origin == .retry && rows[end.sequence] == nil
        if isDropped || isGone || end.outcome.control == .abortMessage {
            return giveUp(end, .dropped(attempts: end.attempts + 1))
        }
        let isFirst = end.origin == .log
        if end.origin != .retry, waiting.goesOn(end.sequence, isFirst: isFirst, subject: end.subject) {
            return .superseded
        }
        // One that was asked for again meanwhile has begun anew.
        let attempts = min(end.attempts, rows[end.sequence]?.attempts ?? end.attempts)
        if change == .stayedOpen || change == .lost {
            if isPoison(end) { return giveUp(end, .exhausted(attempts: attempts + 1)) }
            waiting.keep(end.sequence, attempts: attempts, isFirst: isFirst, subject: end.subject)
            waiting.hold(end.sequence)
            return .held
        }
        let excused = rows[end.sequence]?.excused ?? 0
        switch RetrySchedule.next(
            delegate.settings.retrySchedule, attempts: attempts + 1, excused: excused, after: end.outcome,
            random: end.random)
        {
        case .exhausted: return giveUp(end, .exhausted(attempts: attempts + 1))
        case .excused(let delay): return retry(end, after: delay, attempts: attempts, excused: excused + 1)
        case .retry(let delay): return retry(end, after: delay, attempts: attempts + 1, excused: 0)
        }
    }

    private func giveUp(_ end: End, _ settlement: Settlement) -> Settlement {
        waiting.remove(end.sequence)
        waiting.release(end.subject)
        return settlement
    }

    private func retry(_ end: End, after delay: Double, attempts: Int, excused: Int) -> Settlement {
        waiting.keep(
            end.sequence, attempts: attempts, excused: excused, isFirst: end.origin == .log, subject: end.subject)
        return .retry(after: Int64(delay * 1_000_000_000), attempts: attempts, turn: waiting.replan(end.sequence) ?? 0)
    }

    /// A delivery that is the only one that fails, for longer than its schedule lasts: it doesn't bar the others for good.
    private func isPoison(_ end: End) -> Bool {
        guard flow.breaker.isOneDelivery, end.outcome.meaning != .unreachable, let outage = flow.breaker.outage else {
            return false
        }
        let schedule = delegate.settings.retrySchedule.reduce(0, +)
        return Double(end.wall - outage.since) >= schedule * 1_000
    }

    private func close(_ sequence: LogPosition, _ origin: Origin) {
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

    /// Whether an attempt to tell of this event is under way.
    func hasOpen(_ sequence: LogPosition) -> Bool {
        inFlight.contains(sequence) || rows[sequence]?.isOpen == true
    }
}
