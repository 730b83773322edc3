import HeraldRuntime

/// The position of one delegate in the event log, with what is in flight and what waits for a retry.
///
/// A value without I/O: the delivery loop that owns it asks, acts, and reports back. `next` says how far it is:
///
/// - `nil`: the lane is *caught up*. The router offers it each new event; nothing is queued for it.
/// - a sequence: the lane is *behind*. It reads the log by itself from there when it may start something, until it is
///   caught up. A slow, paused or failing delegate costs this number, whatever has been published since.
///
/// This file has its state and what may start; `Lane+Attempts` how attempts begin and end, `Lane+Waiting` the deliveries
/// that have a row of their own.
struct Lane {
    /// What a lane starts next.
    enum Source: Equatable {
        case retry(Retry)
        /// The next event of the log.
        case log(LogPosition)
        /// The next event of its replay.
        case replay(LogPosition)
    }

    /// A delivery with a row of its own.
    struct Waiting {
        /// How many were made and counted.
        var attempts: Int
        /// How many in a row were rejected with a time to come again, and not counted.
        var excused = 0
        /// Counts the plans that were made for it: a timer of an earlier plan means nothing.
        var turn: UInt32 = 0
        /// It was asked for again: its callbacks say so.
        var isReplay: Bool
        /// It is made whatever the delegate wants by now.
        var isNamed = false
        /// The lane itself has come by the event, and has not delivered it yet: strict order waits for it.
        var isFirst: Bool
        /// An attempt is under way.
        var isOpen = false
        let subject: String?
    }

    /// Deliveries of one lane that may wait for a retry; past it the lane takes no new event until one is settled, so
    /// that memory stays bounded.
    static let maxWaiting = 10_000
    /// First tries between two late retries, while there are both.
    static let firstTriesPerRetry = 3

    var delegate: WebhookDelegate
    var next: LogPosition?
    /// First tries that are open, ascending.
    var inFlight: [LogPosition] = []
    var retriesInFlight = 0
    var flow = FlowControl()
    /// Rows of the store: deliveries whose next attempt waits for time, for room, for a probe or for another one.
    var waiting: [LogPosition: Waiting] = [:]
    /// Retries that are due but could not start yet.
    var held = FIFO<Retry>()
    var lines = SubjectQueues()
    /// The oldest is under way, the others wait for its end.
    var replays: [ReplayCursor] = []
    /// The last event that was started or passed over by reading.
    var position: LogPosition
    /// Its app's place in the engine's `apps`.
    var share = 0
    /// It has changed since the last checkpoint.
    var isTouched = false
    /// Nothing is sent until the registry says what became of the delegate: it has been found lost.
    var isHalted = false
    /// Its deliveries have ended.
    var isGone: Bool
    /// The ordering has changed: nothing starts until what is open has ended.
    var isReordering = false
    /// When a timer is to end its lease, or to wake it, in monotonic nanoseconds.
    var leaseTimer: Int64?
    var wakeTimer: Int64?
    /// When its owner is to be asked for consent again, in monotonic nanoseconds; calls that did so without success.
    var verifyTimer: Int64?
    var verifications = 0
    /// First tries since the last retry.
    var firstTries = 0
    var replayIsNext = false
    /// While failing: so many probes go to deliveries that failed already before the next one is a new event. Each round
    /// is longer than the one before, so that an outage costs few rows, and an event that always fails bars no other.
    var probesBeforeNew = 0
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
        now: Int64 = 0,
        nextProbe: Int64 = 0
    ) {
        self.delegate = delegate
        self.next = next
        self.position = max(position, decided.max() ?? position)
        self.decided = decided
        floor = max(delegate.start, next.map { $0 - 1 } ?? 0)
        isGone = delegate.status == .gone
        if let since = delegate.state.failingSince {
            flow = FlowControl(failingSince: since, now: now, nextProbe: nextProbe)
        }
    }

    /// Gives the lane the delegate's new settings.
    mutating func change(to delegate: WebhookDelegate) {
        let old = self.delegate
        self.delegate = delegate
        // What the lane has found out holds until the registry has heard of it: a change may have crossed the news.
        if old.status == .gone || delegate.status == .gone { isGone = delegate.status == .gone }
        if old.status != .active || delegate.status != .active { isHalted = false }
        expectRecovery(old)
        if delegate.settings.rateLimit != old.settings.rateLimit { flow.rateLimitChanged() }
        if delegate.settings.ordering != old.settings.ordering { reorder(was: old.settings.ordering) }
    }

    /// An operator who gives it another address, or resumes it, says that it works: it need not wait for a probe.
    private mutating func expectRecovery(_ old: WebhookDelegate) {
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
    var ordering: WebhookSettings.Ordering { delegate.settings.ordering }
    var open: Int { inFlight.count + retriesInFlight + (replays.first?.inFlight.count ?? 0) }
    /// There is something to send, if it may.
    var hasWork: Bool { next != nil || !held.isEmpty || replays.first?.hasWork == true }
    /// Neither behind nor with anything open: at the common position.
    var isSettled: Bool { next == nil && inFlight.isEmpty }

    /// Everything up to here is settled, or has a row of its own.
    /// - Precondition: not `isSettled`: then it is the common position.
    var cursor: LogPosition { min(inFlight.first ?? .max, next ?? .max) - 1 }

    /// Events that it has not come to, and starts nothing for when it does: settled before a restart, or with a row.
    var ahead: Set<LogPosition> {
        guard let next, !(decided.isEmpty && waiting.isEmpty) else { return [] }
        return decided.filter { $0 >= next }.union(waiting.keys.filter { $0 >= next })
    }

    // MARK: Deciding

    /// Asks where the lane lies. Of an element of an array, Swift copies the whole lane for each question that doesn't
    /// change it, and counts references to all that it holds: 2 % of a delivery.
    @inline(__always)
    mutating func ask<Answer>(_ question: (borrowing Lane) -> Answer) -> Answer { question(self) }

    /// Whether this delegate is to be told of this event, by its settings of the moment.
    /// - Parameter isRouted: the router has found the lane by the event's type.
    mutating func wants(_ event: Event, _ sequence: LogPosition, isRouted: Bool, _ view: () -> EventView) -> Bool {
        guard isWanted(event, sequence, isRouted: isRouted, view) else { return false }
        return decided.isEmpty || decided.remove(sequence) == nil
    }

    /// The same, without noting that a settled event was seen.
    func isWanted(_ event: Event, _ sequence: LogPosition, isRouted: Bool, _ view: () -> EventView) -> Bool {
        sequence > floor && delegate.selection.matches(event, isRouted: isRouted, view)
    }

    /// Whether the lane would have started this event, had it not left the log before.
    func misses(_ event: Event, _ sequence: LogPosition, isRouted: Bool, _ view: () -> EventView) -> Bool {
        guard let next, next <= sequence, waiting[sequence] == nil, !decided.contains(sequence) else { return false }
        return isWanted(event, sequence, isRouted: isRouted, view)
    }

    /// Whether another attempt may start now.
    func mayStart(now: Int64) -> Bool {
        guard isActive, !isReordering else { return false }
        return flow.mayStart(open: open, limits, now: now)
    }

    /// When an attempt may start that only time keeps from starting; monotonic nanoseconds.
    func startTime(now: Int64) -> Int64? {
        guard isActive, !isReordering, hasWork else { return nil }
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
    mutating func nextSource() -> Source? {
        dropOutdatedRetries()
        let retry = held.first
        if let retry, isFailing ? probesBeforeNew > 0 : firstTries >= Self.firstTriesPerRetry {
            return .retry(retry)
        }
        let replay = nextOfReplay
        if let next, mayTakeNewEvent, !(replayIsNext && replay != nil) { return .log(next) }
        return replay.map(Source.replay) ?? retry.map(Source.retry)
    }

    private var nextOfReplay: LogPosition? {
        guard let replay = replays.first, replay.hasWork, waiting.count < Self.maxWaiting else { return nil }
        return ordering == .none || replay.inFlight.isEmpty ? replay.next : nil
    }

    var mayTakeNewEvent: Bool {
        guard waiting.count < Self.maxWaiting else { return false }
        return ordering != .strict || open == 0 && !waiting.values.contains { $0.isFirst }
    }

    // MARK: Reading

    /// The lane can't take this event now: it goes on from there by itself.
    mutating func fallBehind(from sequence: LogPosition) {
        if next == nil { next = sequence }
    }

    /// The lane has looked at this event, and at all before it.
    mutating func pass(_ sequence: LogPosition) {
        next = sequence + 1
        // After a restart it comes by events again that it had looked at.
        position = max(position, sequence)
    }

    /// The end of the log is reached: from here on the router offers.
    mutating func catchUp() {
        // After a restart the router may be behind the lane: what was settled beyond it stays so.
        if !decided.isEmpty, let next { decided = decided.filter { $0 >= next } }
        next = nil
    }

    /// The log begins here now.
    /// - Returns: the first event that the lane has missed by that, if any.
    mutating func trim(first: LogPosition) -> LogPosition? {
        if let replay = replays.first, replay.next < first { replays[0].pass(first - 1) }
        guard let next, next < first else { return nil }
        pass(first - 1)
        return next
    }

    /// Its deliveries have ended.
    /// - Returns: those that waited.
    mutating func end() -> [LogPosition] {
        let ended = waiting.keys.sorted()
        waiting = [:]
        held.removeAll()
        lines = SubjectQueues()
        next = nil
        isGone = true
        return ended
    }
}
