import Runtime

/// What a delivery loop does between two polls: routes new events to lanes, starts attempts, settles what has ended, and
/// gathers checkpoints. It owns the loop's lanes; everything here runs on the loop's thread, nothing waits.
///
/// It acts through what it is given: a `CallbackSender`, and two closures that ask for a page of the log and hand over a
/// checkpoint. So a test drives it step by step, with a clock of its own.
final class DeliveryEngine {
    struct Ports {
        let sender: any CallbackSender
        let tail: Tail
        let clock: Clock
        /// Asks for the page after a position; the answer comes as `pageArrived`.
        let readPage: (Sequence) -> Void
        /// Hands a checkpoint to the writer; the answer comes as `checkpointEnded`.
        let submit: (Checkpoint) -> Void
        /// Within 0..<1.
        let random: () -> Double
    }

    private struct Transfer {
        let lane: Int
        let delegate: DelegateKey
        let sequence: Sequence
        let event: Event
        /// Made before this one.
        let attempts: Int
        let isRetry: Bool
        let startedAt: Int64
    }

    private enum Timer {
        case retry(Retry)
        case probe(DelegateKey)
        case readAgain(after: Sequence)
    }

    /// After a read of the store that failed, in nanoseconds.
    private static let readPause: Int64 = 1_000_000_000

    /// Events routed, and lanes visited, before the engine lets the sender work again.
    private static let turnBudget = 256
    /// Attempts that one lane starts before it is the next one's turn.
    private static let quantum = 16
    /// Events that one lane reads over in its turn, when it wants few of them.
    private static let scanBudget = 512

    private let ports: Ports
    let board: LaneBoard
    let counters: DeliveryCounters

    private var lanes: [Lane?] = []
    private var indices: [DelegateKey: Int] = [:]
    private var freeLanes: [Int] = []
    private var router = Router()
    /// Every lane that is caught up has been offered everything up to here.
    private(set) var routed: Sequence
    /// The end of the log as this loop has routed it, without a lock.
    private var recent: RecentEvents
    private var pages = PageCache()
    private var routingWaitsForPage = false
    /// Where the tail began when it had no longer what this loop was to route next.
    private var tailBegins: Sequence = 0

    private var transfers: [Transfer?] = []
    private var freeTransfers: [Int] = []
    private(set) var openTransfers = 0
    private var timers = TimerQueue<Timer>()
    var waitingTimers: Int { timers.count }
    /// About so many timers belong to lanes that are gone.
    private var deadTimers = 0
    /// Lanes that have work and may start some of it, in the order of their turns.
    private var ready = RoundRobin()
    private var checkpoints: CheckpointBuilder
    private var touchedLanes: [Int] = []
    /// Monotonic nanoseconds, read once for each turn and each outcome.
    private var now: Int64
    private var isStopping = false

    /// - Parameters:
    ///   - settled: the common position of lanes without a row.
    ///   - recentEvents: how many of the last events lanes find here.
    init(
        ports: Ports, settled: Sequence, counters: DeliveryCounters = DeliveryCounters(),
        board: LaneBoard = LaneBoard(), recentEvents: Int = 8192
    ) {
        self.ports = ports
        self.counters = counters
        self.board = board
        now = ports.clock.monotonic()
        routed = settled
        recent = RecentEvents(after: settled, maxEvents: recentEvents, maxBytes: 16 << 20)
        checkpoints = CheckpointBuilder(settled: settled)
        board.settled = settled
    }

    // MARK: Lanes

    /// What is known of a lane from before a restart.
    struct Restored {
        var position: LanePosition?
        var waiting: [WaitingDelivery] = []
        var decided: Set<Sequence> = []
    }

    /// Adds a lane, or gives it the delegate's new settings.
    /// - Parameter restored: of a delegate from before the start; `nil`: it has just been registered.
    func set(_ delegate: WebhookDelegate, restored: Restored? = nil) {
        now = ports.clock.monotonic()
        if let index = indices[delegate.key], let lane = lanes[index] {
            router.remove(index, lane.delegate.settings.events)
            router.insert(index, delegate.settings.events)
            lanes[index] = Lane(lane, changedTo: delegate)
            pauseOrResume(index)
            return
        }
        let index = insert(restored.map { restore(delegate, $0) } ?? newLane(delegate))
        indices[delegate.key] = index
        router.insert(index, delegate.settings.events)
        for waiting in restored?.waiting ?? [] { schedule(waiting) }
        pauseOrResume(index)
    }

    private func restore(_ delegate: WebhookDelegate, _ restored: Restored) -> Lane {
        if restored.position != nil { checkpoints.hasRow(delegate.key) }
        return Lane(
            delegate, next: restored.position.map { $0.cursor + 1 }, position: restored.position?.position ?? routed,
            waiting: restored.waiting.count, decided: restored.decided)
    }

    private func newLane(_ delegate: WebhookDelegate) -> Lane {
        // The writer gave it a row, in the transaction of its registration.
        checkpoints.hasRow(delegate.key)
        // Events that came after the registration may have been routed before the news of it arrived here.
        return Lane(delegate, next: delegate.start < routed ? delegate.start + 1 : nil, position: delegate.start)
    }

    /// Ends a lane. What is open ends by itself; what waits is gone.
    func remove(_ key: DelegateKey) {
        guard let index = indices.removeValue(forKey: key), let lane = lanes[index] else { return }
        router.remove(index, lane.delegate.settings.events)
        lanes[index] = nil
        freeLanes.append(index)
        ready.remove(index)
        checkpoints.forget(key)
        board.remove(key)
        deadTimers += lane.waiting
        if deadTimers > 1024 && deadTimers > timers.count / 2 { forgetDeadTimers() }
    }

    private func forgetDeadTimers() {
        deadTimers = 0
        timers.removeAll { timer in
            switch timer {
            case .retry(let retry): indices[retry.delegate] == nil
            case .probe(let key): indices[key] == nil
            case .readAgain: false
            }
        }
    }

    private func insert(_ lane: Lane) -> Int {
        if let index = freeLanes.popLast() {
            lanes[index] = lane
            return index
        }
        lanes.append(lane)
        return lanes.count - 1
    }

    private func pauseOrResume(_ index: Int) {
        guard let lane = lanes[index] else { return }
        // A paused lane needs a position of its own: the common one goes on without it.
        if lane.isPaused && lane.next == nil { lanes[index]?.fallBehind(from: routed + 1) }
        touched(index)
        enqueue(index)
    }

    private func schedule(_ waiting: WaitingDelivery) {
        // A stored time is the wall clock's: a clock that jumped must not postpone a retry beyond a day.
        let delay = min(max(0, waiting.dueAt - ports.clock.wall()), 86_400_000 * 2)
        timers.insert(
            .retry(Retry(delegate: waiting.delegate, event: waiting.event, attempts: waiting.attempts)),
            due: now + delay * 1_000_000)
    }

    // MARK: A turn

    /// Does what can be done now.
    /// - Returns: when there is something to do next, in monotonic nanoseconds; `nil`: not before the sender reports
    ///   something or wakes.
    func turn() -> Int64? {
        now = ports.clock.monotonic()
        fireTimers()
        let routedAll = routeNewEvents()
        let pumpedAll = pump()
        if let due = checkpoints.due, due <= now { submitCheckpoint() }
        if !routedAll || !pumpedAll { return now }
        return [timers.nextDue, checkpoints.due].compactMap { $0 }.min()
    }

    private func fireTimers() {
        while let timer = timers.popDue(now: now) {
            switch timer {
            case .retry(let retry):
                guard let index = indices[retry.delegate] else { continue }
                lanes[index]?.hold(retry)
                enqueue(index)
            case .probe(let key):
                if let index = indices[key] { enqueue(index) }
            case .readAgain(let after):
                ports.readPage(after)
            }
        }
    }

    private var hasRoom: Bool {
        !isStopping && openTransfers < ports.sender.capacity && !checkpoints.isFull
    }

    /// There is room for one more when each lane in line has got its turn: who keeps up doesn't push in.
    private var hasRoomBesidesLine: Bool {
        hasRoom && openTransfers + ready.count < ports.sender.capacity
    }

    // MARK: Routing

    /// Returns whether the end of the log was reached, or only a page from the store can bring the next events.
    private func routeNewEvents() -> Bool {
        guard !isStopping else { return true }
        switch ports.tail.slice(after: routed, limit: Self.turnBudget) {
        case .end: return true
        case .events(let batch):
            route(batch)
            return batch.events.count < Self.turnBudget
        case .gone(let first):
            tailBegins = first
            if routingWaitsForPage { return true }
            // After a restart, or when this loop was slower than the tail is long: the store has them.
            routingWaitsForPage = true
            ports.readPage(routed)
            return true
        }
    }

    private func route(_ batch: EventBatch) {
        for (offset, event) in batch.events.enumerated() {
            let sequence = batch.first + Sequence(offset)
            recent.append(event)
            routed = sequence
            let matching = router.lanes(for: event.type)
            for index in matching.any { offer(event, sequence, to: index) }
            for index in matching.named { offer(event, sequence, to: index) }
        }
        checkpoints.routed(to: routed, now: now)
    }

    private func offer(_ event: Event, _ sequence: Sequence, to index: Int) {
        // Lanes are changed in place: taking one out of the array would copy its arrays.
        guard lanes[index]?.next == nil, lanes[index]?.wants(event, sequence) == true else { return }
        if lanes[index]?.held.isEmpty == true, lanes[index]?.mayStart(now: now) == true,
            lanes[index]?.mayTakeNewEvent == true, hasRoomBesidesLine
        {
            start(event, sequence, lane: index)
        } else {
            lanes[index]?.fallBehind(from: sequence)
            touched(index)
            enqueue(index)
        }
    }

    // MARK: Starting attempts

    /// Puts a lane in line when it has something that it may start.
    private func enqueue(_ index: Int) {
        guard lanes[index]?.hasWork == true, lanes[index]?.mayStart(now: now) == true else { return }
        ready.append(index)
    }

    /// Lets the lanes in line start attempts, each in its turn. Returns whether nothing is left that could start now.
    private func pump() -> Bool {
        var visits = Self.turnBudget
        while hasRoom {
            guard visits > 0 else { return false }
            visits -= 1
            guard let index = ready.next() else { return true }
            if pump(lane: index) { ready.append(index) }
        }
        return true
    }

    /// Returns whether the lane could go on when its turn comes again.
    private func pump(lane index: Int) -> Bool {
        var starts = Self.quantum
        var reads = Self.scanBudget
        while starts > 0, reads > 0, hasRoom {
            guard lanes[index]?.mayStart(now: now) == true else { return false }
            if lanes[index]?.prefersRetry == true {
                if !startHeldRetry(lane: index) { return false }
                starts -= 1
                continue
            }
            guard let next = lanes[index]?.next, lanes[index]?.mayTakeNewEvent == true else { return false }
            guard next <= routed else {
                lanes[index]?.catchUp()
                touched(index)
                return lanes[index]?.hasWork == true
            }
            guard let event = event(at: next) else {
                readPage(for: index, at: next)
                return false
            }
            reads -= 1
            lanes[index]?.pass(next)
            touched(index)
            if lanes[index]?.matches(event) == true, lanes[index]?.wants(event, next) == true {
                start(event, next, lane: index)
                starts -= 1
            }
        }
        return true
    }

    private func event(at sequence: Sequence) -> Event? {
        if sequence >= recent.first && sequence <= recent.last { return recent[sequence] }
        return pages.event(sequence)
    }

    private func readPage(for index: Int, at sequence: Sequence) {
        guard let key = lanes[index]?.delegate.key else { return }
        if let after = pages.want(sequence, for: key) { ports.readPage(after) }
    }

    /// Returns `false` when the event has to be read first; the lane is put in line again when it is there.
    private func startHeldRetry(lane index: Int) -> Bool {
        guard let retry = lanes[index]?.held.first else { return true }
        guard let event = event(at: retry.event) else {
            readPage(for: index, at: retry.event)
            return false
        }
        _ = lanes[index]?.startHeldRetry()
        begin(event, retry.event, lane: index, attempts: retry.attempts, isRetry: true)
        return true
    }

    private func start(_ event: Event, _ sequence: Sequence, lane index: Int) {
        lanes[index]?.started(sequence)
        touched(index)
        begin(event, sequence, lane: index, attempts: 0, isRetry: false)
    }

    private func begin(_ event: Event, _ sequence: Sequence, lane index: Int, attempts: Int, isRetry: Bool) {
        guard let delegate = lanes[index]?.delegate else { return }
        let transfer = Transfer(
            lane: index, delegate: delegate.key, sequence: sequence, event: event, attempts: attempts,
            isRetry: isRetry, startedAt: ports.clock.wall())
        let token: Int
        if let free = freeTransfers.popLast() {
            transfers[free] = transfer
            token = free
        } else {
            transfers.append(transfer)
            token = transfers.count - 1
        }
        openTransfers += 1
        ports.sender.start(Callback(token: token, delegate: delegate, event: event, attempt: attempts + 1))
    }

    // MARK: Settling

    /// An attempt has ended.
    func finished(_ token: Int, _ outcome: CallbackOutcome) {
        guard transfers.indices.contains(token), let transfer = transfers[token] else { return }
        transfers[token] = nil
        freeTransfers.append(token)
        openTransfers -= 1
        // Not an attempt: the event is delivered after the restart.
        if case .failed(.stopped, _) = outcome.verdict { return }
        now = ports.clock.monotonic()
        let record = AttemptRecord(
            transfer.attempts + 1, transfer.delegate, transfer.sequence, transfer.startedAt, outcome)
        checkpoints.add(record, now: now)
        counters.count(outcome)

        let index = transfer.lane
        guard lanes[index]?.delegate.key == transfer.delegate else { return }
        let key = DeliveryKey(delegate: transfer.delegate, event: transfer.sequence)
        let health = lanes[index]?.health
        let settlement = lanes[index]?.finished(
            transfer.sequence, isRetry: transfer.isRetry, attempts: transfer.attempts, outcome: outcome, now: now,
            random: ports.random())
        switch settlement {
        case .delivered:
            if transfer.isRetry { checkpoints.end(key, now: now) }
        case .retry(let delay, let attempts):
            let retry = Retry(delegate: key.delegate, event: key.event, attempts: attempts)
            timers.insert(.retry(retry), due: now + delay)
            checkpoints.wait(key, attempts: attempts, dueAt: ports.clock.wall() + delay / 1_000_000, now: now)
        case .exhausted(let attempts):
            counters.exhausted()
            checkpoints.giveUp(key, attempts: attempts, at: ports.clock.wall(), now: now)
        case .held:
            lanes[index]?.hold(Retry(delegate: key.delegate, event: key.event, attempts: transfer.attempts))
            if !transfer.isRetry {
                checkpoints.wait(key, attempts: transfer.attempts, dueAt: ports.clock.wall(), now: now)
            }
        case nil: break
        }
        if case .failing(_, let probeAt, _)? = lanes[index]?.health, health != lanes[index]?.health {
            timers.insert(.probe(transfer.delegate), due: probeAt)
        }
        touched(index)
        enqueue(index)
    }

    // MARK: What comes back

    /// The page after a position was read; `nil` when it could not be.
    func pageArrived(after: Sequence, _ page: EventBatch?) {
        now = ports.clock.monotonic()
        guard let page else {
            timers.insert(.readAgain(after: after), due: now + Self.readPause)
            return
        }
        if routingWaitsForPage && after == routed {
            routingWaitsForPage = false
            // Retention may have removed what lay between, or all that lay before the tail.
            let first = page.events.isEmpty ? tailBegins : page.first
            if first > routed + 1 {
                recent.reset(after: first - 1)
                routed = first - 1
            }
            route(page)
        }
        let (delegates, readNext) = pages.arrived(after: after, page)
        if let readNext { ports.readPage(readNext) }
        for key in delegates {
            guard let index = indices[key] else { continue }
            skipMissing(index, after: after, page)
            enqueue(index)
        }
    }

    /// Events that are no longer in the log are passed over.
    private func skipMissing(_ index: Int, after: Sequence, _ page: EventBatch) {
        // What came since the page was read is among the recent ones.
        let firstThere = page.events.isEmpty ? recent.first : page.first
        guard firstThere > after + 1 else { return }
        if let next = lanes[index]?.next, next == after + 1 { lanes[index]?.pass(firstThere - 1) }
        if let retry = lanes[index]?.held.first, retry.event == after + 1 {
            _ = lanes[index]?.startHeldRetry()
            lanes[index]?.abandonRetry()
            checkpoints.end(DeliveryKey(delegate: retry.delegate, event: retry.event), now: now)
        }
    }

    // MARK: Checkpoints

    private func touched(_ index: Int) {
        guard lanes[index]?.isTouched == false else { return }
        lanes[index]?.isTouched = true
        touchedLanes.append(index)
        checkpoints.touch(now: now)
    }

    private func submitCheckpoint() {
        if let again = checkpoints.takeFailed() {
            ports.submit(again)
            return
        }
        var places: [(DelegateKey, CheckpointBuilder.Place)] = []
        places.reserveCapacity(touchedLanes.count)
        for index in touchedLanes where lanes[index]?.isTouched == true {
            lanes[index]?.isTouched = false
            guard let lane = lanes[index] else { continue }
            board.update(lane.delegate.key, lane)
            places.append((lane.delegate.key, lane.isSettled ? .settled : .at(lane.cursor, lane.position)))
        }
        touchedLanes.removeAll(keepingCapacity: true)
        ports.submit(checkpoints.take(settled: routed, lanes: places))
    }

    func checkpointEnded(succeeded: Bool) {
        if let settled = checkpoints.ended(succeeded: succeeded, now: ports.clock.monotonic()) {
            board.settled = settled
        }
    }

    // MARK: Stopping

    /// Starts nothing from here on.
    func stopStarting() { isStopping = true }

    /// Hands over what has not been checkpointed. Called until nothing is left.
    /// - Returns: whether everything has been written.
    func flush() -> Bool {
        if checkpoints.isWriting { return false }
        guard checkpoints.hasChanges else { return true }
        submitCheckpoint()
        return false
    }
}

extension AttemptRecord {
    fileprivate init(
        _ number: Int, _ delegate: DelegateKey, _ event: Sequence, _ startedAt: Int64, _ outcome: CallbackOutcome
    ) {
        var status: Int?
        var failure: CallbackFailure?
        var detail = ""
        switch outcome.verdict {
        case .answered(let code, _): status = code
        case .failed(let reason, let words):
            failure = reason
            detail = words
        }
        self.init(
            delegate: delegate, event: event, number: number, startedAt: startedAt, duration: outcome.duration,
            status: status, failure: failure, detail: detail, excerpt: outcome.excerpt)
    }
}
