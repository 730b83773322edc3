import HeraldModel
import HeraldRuntime

/// Starts the attempts of a delivery loop's lanes, each lane in its turn, and keeps the open requests. On one thread.
final class AttemptStarter: LoopPart {
    /// Number of lanes visited before the engine lets the sender work again.
    private static let maxVisits = 256
    /// Number of attempts started before the engine lets the sender work again, and takes new events: an event for a hundred
    /// delegates is not to delay one for another delegate by the time that a hundred starts take. Fewer cost more for each
    /// attempt: 6 % of the processor's time with 8, 3 % with 32.
    static let maxStartsPerTurn = 32
    /// Maximum number of attempts that one lane starts per turn.
    static let maxStarts = 16
    /// Maximum number of events that one lane reads per turn, for lanes that want few of them.
    private static let maxReads = 512
    /// The steps of content filters in the two parts of a turn, new events and queued lanes: 10 ms of processor time each. Expensive
    /// filters then wait for the turns of their lanes, so that those of one app delay no other.
    private static let maxFilterSteps = 400_000
    /// Maximum number of events among which a probe searches for one of another type.
    private static let maxPeeks: LogPosition = 64

    private let sender: any CallbackSender
    private let permit: DeliveryPermit
    let tracer: (any Tracer)?
    /// By token.
    private var callbacks: [OpenCallback?] = []
    private var freeTokens: [Int] = []
    private var slots: Slots
    /// Lanes that wait until fewer slots are held: receivers that respond late leave the next free one to another app. Lanes that
    /// are caught up do not overtake them.
    private var parked = LanesByShare()
    private var openEvents: OpenEvents
    /// The open calls outside the lanes, at most a quarter of the slots: receivers that hang leave the rest to deliveries.
    private var calls: Shares<AppKey>
    /// Lanes that wait until fewer bytes of events are in open requests.
    private var waitingForBytes = LanesByShare()
    private let origins: OriginQueues
    private var startsLeft = maxStartsPerTurn
    /// No filter begins in this part of the turn once the log has counted so many steps.
    private var filterLimit = 0
    /// A queued lane has started an attempt since the last time that another one overtook the queue.
    private var mayOvertake = true
    /// No further attempts or calls start.
    private(set) var isStopping = false
    /// All that was open was aborted since the permit ended.
    private var isAborting = false

    init(
        _ loop: LoopParts, sender: any CallbackSender, permit: DeliveryPermit, limits: LoopLimits,
        tracer: (any Tracer)?
    ) {
        self.sender = sender
        self.permit = permit
        self.tracer = tracer
        slots = Slots(capacity: sender.capacity)
        calls = Shares(slots: max(1, sender.capacity / 4), factor: 3)
        openEvents = OpenEvents(maxBytes: limits.openBytes)
        origins = OriginQueues(loop)
        super.init(loop)
    }

    func stop() { isStopping = true }

    // MARK: Slots

    /// Number of open requests.
    var open: Int { slots.open }
    private var mayOpen: Bool { !isStopping && !slots.isFull && isPermitted }
    /// Whether a call outside the lanes may be made.
    func mayCall(_ lane: Lane) -> Bool {
        mayOpen && calls.total < max(1, slots.capacity / 4) && calls.excess(of: lane.delegate.app, others: 1) == 0
    }
    func hasBytes(_ event: Event) -> Bool { openEvents.hasRoom(event, 0, isProven: false) }
    /// By the clock itself: the process may have stood still since the turn began.
    private var isPermitted: Bool { !permit.isLimited || permit.allows(timers.exactNow) }

    private var now: Int64 { timers.now }
    private var slept: Int64 { sender.slept(asOf: now) }
    private var line: FairScheduler { lanes.scheduler }

    private var hasRoom: Bool { startsLeft > 0 && mayOpen && !slots.isBusy && !ledger.isFull }

    /// Whether a lane that is caught up may start an attempt: there is a slot for every queued lane as well, and either
    /// room for all of them now, or it alternates with them. So an event for one delegate does not wait until an earlier
    /// event has reached a hundred others.
    private func hasRoomBesidesLine(_ lane: Lane) -> Bool {
        guard hasRoom, line.count < slots.free, line.mayOpen(lane.share, free: slots.free) else { return false }
        return slots.young + line.count < Slots.maxYoung || mayOvertake && line.mayOvertake(lane.share)
    }

    func beginTurn() {
        startsLeft = Self.maxStartsPerTurn
        renewFilters()
    }

    private func renewFilters() { filterLimit = log.filterSteps + Self.maxFilterSteps }

    /// Whether the lane may read an event now.
    func mayRead(_ lane: Lane) -> Bool { lane.delegate.selection.filter == nil || log.filterSteps < filterLimit }

    /// When queued lanes will have room, if the loop sleeps from now on. Monotonic nanoseconds.
    var roomDue: Int64? {
        guard slots.isBusy || slots.isBusyWithUnproven, !line.isEmpty else { return nil }
        return slots.nextGrown.map { now + max(0, $0 - slept) }
    }

    /// Whether the receiver has responded, and has not failed since.
    private func isProven(_ lane: Lane) -> Bool { lane.flow.breaker.isProven }

    private func mayHaveSlot(_ lane: Lane) -> Bool { slots.roomForAny > 0 || lane.flow.mayTakeReserve }

    /// Marks the requests that have become held or late.
    func ageSlots() {
        slots.age(now: now, slept: slept) { token, age in
            switch age {
            case .held: callbacks[token]?.lane.flow.held += 1
            case .late: callbacks[token]?.lane.flow.late += 1
            }
        }
    }

    /// Notes a request in the open attempts of a delivery.
    func note(_ request: OpenCallback.Request, _ key: DeliveryKey) { callbacks.note(request, key) }
    func hasOpenRetry(_ key: DeliveryKey) -> Bool { callbacks.hasRetry(key) }

    // MARK: Aborting

    /// When open requests have to be aborted because this process has been cut off from the store; monotonic nanoseconds.
    var abortDue: Int64? { open == 0 || isAborting || permit.abortsAt == .max ? nil : permit.abortsAt }

    /// Aborts what is open when it is due.
    func abortWhenDue() {
        let isDue = permit.abortsAt <= now
        if isDue, !isAborting, open > 0 { sender.abort(.all) }
        isAborting = isDue
    }

    /// Aborts the requests of lanes that others may have.
    func abort(_ shards: Shards) { sender.abort(shards) }

    // MARK: Queues

    /// Queues a lane that may start something now, or sets the timer that queues it.
    func enqueue(_ lane: Lane) {
        guard lane.hasWork, !lane.waitsForTurn else { return }
        if lane.mayStart(now: now) {
            if mayHaveSlot(lane) { standInLine(lane) } else { park(lane) }
        } else {
            wakeLater(lane)
        }
    }

    private func standInLine(_ lane: Lane) { line.append(lane.index, lane.share, isProven: isProven(lane)) }

    /// Makes the lane wait until fewer slots are held.
    private func park(_ lane: Lane) {
        if parked.append(lane.index, of: lane.share) { ledger.touched(lane) }
    }

    /// Whether the lane waits until other requests have ended, if it has something to start.
    func isParked(_ lane: Lane) -> Bool {
        parked.contains(lane.index, of: lane.share) || waitingForBytes.contains(lane.index, of: lane.share)
            || !line.mayOpen(lane.share, free: slots.free)
    }

    private func hasBytes(_ event: Event, _ sequence: LogPosition, _ lane: Lane) -> Bool {
        openEvents.hasRoom(event, sequence, isProven: isProven(lane))
    }

    private func waitForBytes(_ lane: Lane) {
        if waitingForBytes.append(lane.index, of: lane.share) { ledger.touched(lane) }
    }

    /// Queues lanes that wait for bytes: some of a few apps, which take turns, and all of them when no other request would do it.
    private func leaveWaitForBytes() {
        let isLast = openEvents.bytes == 0
        let leaving = waitingForBytes.take(isLast ? .max : 8, ofShares: isLast ? .max : 4)
        for lane in leaving.compactMap(lanes.at) {
            ledger.touched(lane)
            enqueue(lane)
        }
    }

    /// Queues as many parked lanes as there are free slots.
    private func leaveParking() {
        var room = slots.roomForAny
        while room > 0, let lane = parked.take(1, ofShares: 1).first.flatMap(lanes.at) {
            ledger.touched(lane)
            let queued = line.count
            enqueue(lane)
            // One that may not start now leaves the room to the next one.
            if line.count > queued { room -= 1 }
        }
    }

    /// Sets a timer for a lane that must only wait for time to pass.
    private func wakeLater(_ lane: Lane) {
        guard let time = lane.startTime(now: now), lane.wake(at: time) else { return }
        timers.insert(.wake(lane.key), due: time)
    }

    /// Lets lanes start attempts at an origin, as many as its rate allows now.
    func serve(_ origin: OriginRate) { origins.serve(origin) { enqueue($0) } }

    /// Called before the lane gets another origin.
    func leaveOrigin(_ lane: Lane) { origins.forget(lane) }

    /// Called when the lane has been removed.
    func forget(_ lane: Lane) {
        parked.remove(lane.index, of: lane.share)
        waitingForBytes.remove(lane.index, of: lane.share)
        origins.forget(lane)
    }

    // MARK: Starting

    /// Offers a new event to a lane that the router found.
    func offer(_ event: Event, _ sequence: LogPosition, to lane: Lane) {
        guard lane.next == nil, !lane.isGone else { return }
        guard mayRead(lane) else { return queue(lane, from: sequence) }
        guard lane.wants(event, sequence, isRouted: event.audience == nil, { log.view(of: event) }) else {
            return withdraw(sequence, lane)
        }
        if !lane.hasDueRetry, lane.mayStart(now: now), lane.mayTakeNewEvent, hasRoomBesidesLine(lane),
            parked.isEmpty || lane.flow.mayTakeReserve, mayHaveSlot(lane),
            !slots.isBusyWithUnproven || isProven(lane), hasBytes(event, sequence, lane), origins.mayStart(lane)
        {
            if !line.isEmpty { mayOvertake = false }
            start(event, sequence, lane)
        } else {
            queue(lane, from: sequence)
        }
    }

    /// Lets the lane read this event and those after it in its turn.
    private func queue(_ lane: Lane, from sequence: LogPosition) {
        lane.fallBehind(from: sequence)
        ledger.touched(lane)
        enqueue(lane)
    }

    /// Lets the queued lanes start attempts, each in its turn. Returns whether nothing is left that could start now.
    func startPending() -> Bool {
        var visits = Self.maxVisits
        renewFilters()
        // Also while others are queued: on a busy loop, some always are.
        leaveParking()
        while hasRoom {
            guard visits > 0, log.filterSteps < filterLimit else { return false }
            visits -= 1
            if line.isEmpty { leaveParking() }
            guard let lane = lanes.next(slots) else { return true }
            mayOvertake = true
            if startPending(lane) { standInLine(lane) } else { wakeLater(lane) }
        }
        return startsLeft > 0 || line.isEmpty
    }

    /// Number of attempts per turn: the more lanes are queued, the fewer. So every lane gets an open request, instead
    /// of some lanes opening many requests, each on its own connection. Connections are expensive to open, and each
    /// further connection makes every request slower.
    private var quantum: Int { min(Self.maxStarts, max(1, Slots.maxYoung / (line.count + 1))) }

    /// Returns whether the lane could continue in its next turn.
    private func startPending(_ lane: Lane) -> Bool {
        var starts = quantum
        var reads = Self.maxReads
        var probe: LogPosition = 0
        while starts > 0, reads > 0, hasRoom, mayRead(lane), line.mayOpen(lane.share, free: slots.free) {
            guard lane.mayStart(now: now), let source = lane.nextSource() else { return false }
            guard mayHaveSlot(lane) else {
                park(lane)
                return false
            }
            if case .log(let next) = source, next > log.routed {
                lane.catchUp()
                lanes.join(lane)
                ledger.touched(lane)
                continue
            }
            guard let event = log.event(at: source.sequence) else {
                // The lane is queued again when the page arrives.
                log.read(source.sequence, for: lane.key, of: lane.delegate.app)
                return false
            }
            guard hasBytes(event, source.sequence, lane) else {
                waitForBytes(lane)
                return false
            }
            // The lane is queued again when it has its turn.
            guard origins.mayStart(lane) else { return false }
            switch source {
            case .retry(let retry):
                starts -= 1
                if lane.mustPutBack(event, retry, now: now) {
                    lane.waiting.putBack(retry.event)
                } else {
                    startRetry(retry, event, lane)
                }
            case .log(let next):
                reads -= 1
                lane.pass(next)
                ledger.touched(lane)
                if lane.wants(event, next, isRouted: false, { log.view(of: event) }) {
                    if next >= probe, lane.isDoubtfulProbe(event) { probe = betterProbe(after: next, lane) ?? 0 }
                    start(event, next, lane, isPostponed: next < probe)
                    starts -= 1
                } else {
                    withdraw(next, lane)
                }
            case .replay(let next):
                reads -= 1
                if replay(event, next, lane) { starts -= 1 }
            }
        }
        return true
    }

    /// A publisher waits for a delivery that was not decided before.
    private func withdraw(_ sequence: LogPosition, _ lane: Lane) {
        if !awaited.isEmpty { awaited.withdraw(DeliveryKey(delegate: lane.key, event: sequence)) }
    }

    private func startRetry(_ retry: Retry, _ event: Event, _ lane: Lane) {
        guard let row = lane.rows[retry.event] else { return }
        let key = DeliveryKey(delegate: retry.delegate, event: retry.event)
        // The payload is gone, or the delegate's settings have changed since the last attempt.
        if event.isErased || event.isDamaged || !lane.stillWants(event, retry.event, { log.view(of: event) }) {
            _ = lane.waiting.drop(retry.event)
            if event.isErased {
                ledger.end(key)
            } else {
                ledger.giveUp(
                    key, of: lane, attempts: row.attempts, event.isDamaged ? .damaged : .unwanted, at: timers.wall,
                    isReplay: row.isReplay)
            }
            ledger.touched(lane)
            return awaited.withdraw(key)
        }
        begin(
            event, retry.event, lane, attempts: row.attempts, .retry, isReplay: row.isReplay, isFresh: row.isFresh)
    }

    /// The first of the next events that is a better probe than those before it.
    private func betterProbe(after sequence: LogPosition, _ lane: Lane) -> LogPosition? {
        for next in stride(from: sequence + 1, through: min(sequence + Self.maxPeeks, log.routed), by: 1) {
            guard mayRead(lane), let event = log.event(at: next) else { return nil }
            if lane.isDoubtfulProbe(event) { continue }
            if lane.isWanted(event, next, isRouted: false, { log.view(of: event) }) { return next }
        }
        return nil
    }

    /// - Parameter isPostponed: the event waits in a row, since a later one is a better probe.
    private func start(_ event: Event, _ sequence: LogPosition, _ lane: Lane, isPostponed: Bool = false) {
        if lane.adopt(sequence) { return ledger.becameFirst(lane, sequence) }
        if mustWait(event, sequence, lane, isReplay: false) { return }
        ledger.touched(lane)
        if isPostponed || lane.mustPostpone(event, now: now) { return postpone(event, sequence, lane) }
        begin(event, sequence, lane, attempts: 0, .log, isReplay: false)
    }

    private func postpone(_ event: Event, _ sequence: LogPosition, _ lane: Lane) {
        let (turn, delay) = lane.postpone(event, sequence)
        timers.insert(.retry(Retry(delegate: lane.key, event: sequence, turn: turn)), due: now + delay)
        ledger.wait(lane, sequence, attempts: 0, dueAt: timers.wall + delay / 1_000_000, isReplay: false)
    }

    /// Returns whether an attempt was started.
    private func replay(_ event: Event, _ sequence: LogPosition, _ lane: Lane) -> Bool {
        guard let id = lane.replays.pass(sequence) else { return false }
        ledger.touched(lane)
        defer { endReplays(lane) }
        guard !lane.makesAnyway(sequence, offered: lanes.detour(of: lane)?.position ?? log.routed),
            lane.stillWants(event, sequence, { log.view(of: event) }),
            !mustWait(event, sequence, lane, isReplay: true)
        else { return false }
        begin(event, sequence, lane, attempts: 0, .replay(id), isReplay: true)
        return true
    }

    /// Removes the finished replays of a lane, so that the next one starts.
    func endReplays(_ lane: Lane) {
        while !lane.replays.isEmpty, let replay = lane.replays.popOver() {
            ledger.endReplay(replay.id, of: lane.key)
            ledger.touched(lane)
            enqueue(lane)
        }
    }

    private func mustWait(_ event: Event, _ sequence: LogPosition, _ lane: Lane, isReplay: Bool) -> Bool {
        guard lane.mustWait(event, sequence, isReplay: isReplay) else { return false }
        ledger.wait(lane, sequence, attempts: 0, dueAt: timers.exactWall, isReplay: isReplay)
        ledger.touched(lane)
        return true
    }

    private func begin(
        _ event: Event, _ sequence: LogPosition, _ lane: Lane, attempts: Int, _ origin: Lane.Origin, isReplay: Bool,
        isFresh: Bool = false
    ) {
        var start = lane.started(sequence, origin, type: event.type, now: now)
        start.originWindow = lane.origin?.started(now: now)
        start.background = Float(lane.origin?.background ?? 0)
        lane.hasTurn = false
        open(
            OpenCallback(
                lane: lane, sequence: sequence, event: event, attempts: attempts, purpose: .delivery(origin),
                isReplay: isReplay, startedAt: timers.wall, isFresh: isFresh, start: start,
                span: tracer?.span(of: event)),
            .delivery(isReplay: isReplay))
    }

    /// Sends a request.
    func open(_ callback: OpenCallback, _ purpose: Callback.Purpose) {
        let token = freeTokens.popLast() ?? callbacks.count
        if token == callbacks.count { callbacks.append(callback) } else { callbacks[token] = callback }
        let lane = callback.lane
        line.began(lane.share)
        openEvents.opened(callback.event, callback.sequence)
        // A call outside the lanes gives no evidence about the receiver, so it counts as unproven.
        let isProven = callback.start != nil && isProven(lane)
        if !isProven { lane.flow.held += 1 }
        if callback.start == nil { calls.add(lane.delegate.app) }
        startsLeft -= 1
        slots.start(token, isProven: isProven, now: now, slept: slept)
        sender.start(
            Callback(
                token: token, delegate: lane.delegate, event: callback.event, attempt: callback.attempts + 1,
                purpose: purpose, isFresh: callback.isFresh, span: callback.span))
    }

    /// Called when a request has ended.
    /// - Returns: `nil` if the token has no open request.
    func close(_ token: Int) -> OpenCallback? {
        guard callbacks.indices.contains(token), let callback = callbacks[token] else { return nil }
        callbacks[token] = nil
        freeTokens.append(token)
        line.ended(callback.lane.share)
        if callback.start == nil { calls.remove(callback.lane.delegate.app) }
        if openEvents.closed(callback.event, callback.sequence) { leaveWaitForBytes() }
        let (isHeld, isLate) = slots.end(token)
        if isHeld { callback.lane.flow.held -= 1 }
        if isLate { callback.lane.flow.late -= 1 }
        return callback
    }
}
