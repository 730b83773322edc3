import HeraldRuntime

/// Lets the lanes of a delivery loop start attempts, each in its turn, and knows the requests that are open. One thread.
final class AttemptStarter {
    /// An open request.
    struct OpenCallback {
        enum Purpose {
            case delivery(Lane.Origin)
            /// Somebody tries the delegate out, and waits for the outcome.
            case test((CallbackOutcome?) -> Void)
            /// Its owner is asked for consent; the challenge, when there is one, has to come back.
            /// Consent holds for the address that gave it.
            case verification(challenge: String?, url: String)
        }

        let lane: Lane
        /// 0: the event is in no log.
        let sequence: LogPosition
        let event: Event
        /// Made before this one.
        let attempts: Int
        let purpose: Purpose
        let isReplay: Bool
        let startedAt: Int64
        /// `nil`: outside the lanes.
        var start: FlowControl.Start?

        var key: DeliveryKey { DeliveryKey(delegate: lane.key, event: sequence) }
    }

    /// Lanes visited before the engine lets the sender work again.
    private static let maxVisits = 256
    /// Attempts that one lane starts at most before it is the next one's turn.
    static let maxStarts = 16
    /// Events that one lane reads over in its turn, when it wants few of them.
    private static let maxReads = 512

    private let sender: any CallbackSender
    private let lanes: LaneTable
    private let log: LoopLog
    private let ledger: DeliveryLedger
    private let timers: LoopTimers
    private let awaited: AwaitedAttempts
    /// By their tokens.
    private var callbacks: [OpenCallback?] = []
    private var freeTokens: [Int] = []
    private var slots: Slots
    /// Lanes that wait until fewer slots are held, in the order in which they came.
    private var parked = RoundRobin()
    /// Nothing is started any more.
    private(set) var isStopping = false

    init(
        sender: any CallbackSender, lanes: LaneTable, log: LoopLog, ledger: DeliveryLedger, timers: LoopTimers,
        awaited: AwaitedAttempts
    ) {
        self.sender = sender
        self.lanes = lanes
        self.log = log
        self.ledger = ledger
        self.timers = timers
        self.awaited = awaited
        slots = Slots(capacity: sender.capacity)
    }

    func stop() { isStopping = true }

    // MARK: Slots

    /// Requests that have not ended.
    var open: Int { slots.open }
    /// Whether a call outside the lanes may be made.
    var mayCall: Bool { !isStopping && !slots.isFull }

    private var now: Int64 { timers.now }
    private var slept: Int64 { sender.slept(asOf: now) }
    private var line: FairScheduler { lanes.scheduler }

    private var hasRoom: Bool { !isStopping && !slots.isFull && !slots.isBusy && !ledger.isFull }

    /// There is room for one more when each lane in line has got its turn: who keeps up doesn't push in.
    private var hasRoomBesidesLine: Bool {
        hasRoom && slots.open + line.count < slots.capacity && slots.young + line.count < Slots.maxYoung
    }

    /// When there will be room for lanes that are in line, should the loop sleep from now on.
    var roomDue: Int64? {
        guard slots.isBusy || slots.isBusyWithUnproven, !line.isEmpty else { return nil }
        return slots.nextGrown.map { now + max(0, $0 - slept) }
    }

    /// Whether its receiver has answered, and has not failed since.
    private func isProven(_ lane: Lane) -> Bool { lane.flow.breaker.isProven }

    private func mayHaveSlot(_ lane: Lane) -> Bool { slots.roomForAny > 0 || lane.flow.mayTakeReserve }

    /// Notes which requests have come to be held.
    func ageSlots() {
        slots.age(now: now, slept: slept) { token in callbacks[token]?.lane.flow.held += 1 }
    }

    // MARK: Lines

    /// Puts a lane in line when it has something that it may start, or sets the timer that does so.
    func enqueue(_ lane: Lane) {
        guard lane.hasWork else { return }
        if lane.mayStart(now: now) {
            if mayHaveSlot(lane) { standInLine(lane) } else { park(lane) }
        } else {
            wakeLater(lane)
        }
    }

    private func standInLine(_ lane: Lane) { line.append(lane.index, lane.share, isProven: isProven(lane)) }

    /// The lane waits until fewer slots are held.
    private func park(_ lane: Lane) {
        if parked.append(lane.index) { ledger.touched(lane) }
    }

    func isParked(_ lane: Lane) -> Bool { parked.contains(lane.index) }

    /// Puts lanes in line that waited for slots, as many as there are now.
    private func leaveParking() {
        var room = slots.roomForAny
        while room > 0, let lane = parked.next().flatMap(lanes.at) {
            ledger.touched(lane)
            enqueue(lane)
            room -= 1
        }
    }

    /// What keeps the lane is only time.
    private func wakeLater(_ lane: Lane) {
        guard let time = lane.startTime(now: now), lane.wake(at: time) else { return }
        timers.insert(.wake(lane.key), due: time)
    }

    /// The lane has been removed.
    func forget(_ lane: Lane) { parked.remove(lane.index) }

    // MARK: Starting

    /// Offers a new event to a lane that the router has found.
    func offer(_ event: Event, _ sequence: LogPosition, to lane: Lane) {
        guard lane.next == nil, !lane.isGone,
            lane.wants(event, sequence, isRouted: event.audience == nil, { log.view(of: event) })
        else { return }
        if !lane.hasDueRetry, lane.mayStart(now: now), lane.mayTakeNewEvent, hasRoomBesidesLine, mayHaveSlot(lane),
            !slots.isBusyWithUnproven || isProven(lane)
        {
            start(event, sequence, lane)
        } else {
            lane.fallBehind(from: sequence)
            ledger.touched(lane)
            enqueue(lane)
        }
    }

    /// Lets the lanes in line start attempts, each in its turn. Returns whether nothing is left that could start now.
    func startPending() -> Bool {
        var visits = Self.maxVisits
        while hasRoom {
            guard visits > 0 else { return false }
            visits -= 1
            if line.isEmpty { leaveParking() }
            guard let lane = lanes.next(slots.isBusyWithUnproven ? .proven : .all) else { return true }
            if startPending(lane) { standInLine(lane) } else { wakeLater(lane) }
        }
        return true
    }

    /// The fewer, the more lanes stand in line: so all of them have something open, rather than some of them many requests,
    /// each of which wants a connection of its own. Connections are dear to open, and the more there are, the dearer is each
    /// request.
    private var quantum: Int { min(Self.maxStarts, max(1, Slots.maxYoung / (line.count + 1))) }

    /// Returns whether the lane could go on when its turn comes again.
    private func startPending(_ lane: Lane) -> Bool {
        var starts = quantum
        var reads = Self.maxReads
        while starts > 0, reads > 0, hasRoom {
            guard lane.mayStart(now: now), let source = lane.nextSource() else { return false }
            guard mayHaveSlot(lane) else {
                park(lane)
                return false
            }
            if case .log(let next) = source, next > log.routed {
                lane.catchUp()
                ledger.touched(lane)
                continue
            }
            guard let event = log.event(at: source.sequence) else {
                // The lane is put in line again when the page is there.
                log.read(source.sequence, for: lane.key)
                return false
            }
            switch source {
            case .retry(let retry):
                startRetry(retry, event, lane)
                starts -= 1
            case .log(let next):
                reads -= 1
                lane.pass(next)
                ledger.touched(lane)
                if lane.wants(event, next, isRouted: false, { log.view(of: event) }) {
                    start(event, next, lane)
                    starts -= 1
                }
            case .replay(let next):
                reads -= 1
                if replay(event, next, lane) { starts -= 1 }
            }
        }
        return true
    }

    private func startRetry(_ retry: Retry, _ event: Event, _ lane: Lane) {
        guard let row = lane.rows[retry.event] else { return }
        let key = DeliveryKey(delegate: retry.delegate, event: retry.event)
        // Nothing is left to tell, or the delegate has been changed since the last attempt.
        if event.isErased || event.isDamaged || !stillWants(event, retry.event, lane) {
            _ = lane.drop(retry.event)
            if event.isErased {
                ledger.end(key)
            } else {
                ledger.giveUp(
                    key, attempts: row.attempts, event.isDamaged ? .damaged : .unwanted, at: timers.wall,
                    isReplay: row.isReplay)
            }
            ledger.touched(lane)
            return awaited.withdraw(key)
        }
        begin(event, retry.event, lane, attempts: row.attempts, .retry, isReplay: row.isReplay)
    }

    /// Whether a delivery with a row of its own is to be made by the settings of the moment.
    func stillWants(_ event: Event, _ sequence: LogPosition, _ lane: Lane) -> Bool {
        lane.rows[sequence]?.isNamed == true || selects(event, lane)
    }

    private func selects(_ event: Event, _ lane: Lane) -> Bool {
        lane.delegate.selection.matches(event) { log.view(of: event) }
    }

    private func start(_ event: Event, _ sequence: LogPosition, _ lane: Lane) {
        if lane.adopt(sequence) { return ledger.touched(lane) }
        if mustWait(event, sequence, lane, isReplay: false) { return }
        ledger.touched(lane)
        begin(event, sequence, lane, attempts: 0, .log, isReplay: false)
    }

    /// Returns whether an attempt was started.
    private func replay(_ event: Event, _ sequence: LogPosition, _ lane: Lane) -> Bool {
        guard let id = lane.withReplays({ $0.pass(sequence) }) else { return false }
        ledger.touched(lane)
        defer { endReplays(lane) }
        // One with a row of its own will be made anyway.
        guard lane.rows[sequence] == nil, selects(event, lane), !mustWait(event, sequence, lane, isReplay: true)
        else { return false }
        begin(event, sequence, lane, attempts: 0, .replay(id), isReplay: true)
        return true
    }

    /// Replays of a lane that are over make room for the next one.
    func endReplays(_ lane: Lane) {
        while !lane.replays.isEmpty, let replay = lane.withReplays({ $0.popOver() }) {
            ledger.endReplay(replay.id)
            ledger.touched(lane)
            enqueue(lane)
        }
    }

    private func mustWait(_ event: Event, _ sequence: LogPosition, _ lane: Lane, isReplay: Bool) -> Bool {
        guard lane.mustWait(event, sequence, isReplay: isReplay) else { return false }
        let key = DeliveryKey(delegate: lane.key, event: sequence)
        ledger.wait(key, attempts: 0, dueAt: timers.exactWall, isReplay: isReplay)
        ledger.touched(lane)
        return true
    }

    private func begin(
        _ event: Event, _ sequence: LogPosition, _ lane: Lane, attempts: Int, _ origin: Lane.Origin, isReplay: Bool
    ) {
        let start = lane.started(sequence, origin, now: now)
        open(
            OpenCallback(
                lane: lane, sequence: sequence, event: event, attempts: attempts, purpose: .delivery(origin),
                isReplay: isReplay, startedAt: timers.wall, start: start), .delivery(isReplay: isReplay))
    }

    /// Sends a request.
    func open(_ callback: OpenCallback, _ purpose: Callback.Purpose) {
        let token = freeTokens.popLast() ?? callbacks.count
        if token == callbacks.count { callbacks.append(callback) } else { callbacks[token] = callback }
        let lane = callback.lane
        line.began(lane.share)
        // A call outside the lanes says nothing of a receiver that it doesn't know: it holds its slot.
        let isProven = callback.start != nil && isProven(lane)
        if !isProven { lane.flow.held += 1 }
        slots.start(token, isProven: isProven, now: now, slept: slept)
        sender.start(
            Callback(
                token: token, delegate: lane.delegate, event: callback.event, attempt: callback.attempts + 1,
                purpose: purpose))
    }

    /// A request has ended.
    /// - Returns: `nil`: there was none.
    func close(_ token: Int) -> OpenCallback? {
        guard callbacks.indices.contains(token), let callback = callbacks[token] else { return nil }
        callbacks[token] = nil
        freeTokens.append(token)
        line.ended(callback.lane.share)
        if slots.end(token) { callback.lane.flow.held -= 1 }
        return callback
    }
}
