import HeraldRuntime

/// What a delivery loop does between two polls: routes new events to lanes, starts attempts, settles what has ended, and
/// gathers checkpoints. It owns the loop's lanes; everything here runs on the loop's thread, nothing waits.
///
/// It acts through what it is given: a `CallbackSender`, and closures that ask for a page of the log and hand over a
/// checkpoint. So a test drives it step by step, with a clock of its own.
///
/// This file has its state and its turns. The extensions are the stations of a delivery: `+Lanes`, `+Routing`, `+Starting`,
/// `+Settling`, `+Checkpoints`; what is asked of it from outside: `+Requests`; and calls outside the lanes: `+Calls`.
/// Nobody else touches the state.
final class DeliveryEngine {
    struct Ports {
        let sender: any CallbackSender
        let recentEvents: RecentEvents
        let clock: Clock
        /// Asks for the page after a position; the answer comes as `pageArrived`.
        let readPage: (LogPosition) -> Void
        /// Hands a checkpoint to the writer; the answer comes as `checkpointEnded`.
        let submit: (Checkpoint) -> Void
        /// Within 0..<1.
        let random: () -> Double
        /// A new id for an event.
        let makeID: () -> String
        /// Called every ten seconds; `nil`: another loop does it.
        let runMaintenance: (() -> Void)?
    }

    /// An open request.
    struct OpenCallback {
        enum Purpose {
            case delivery(Lane.Origin)
            /// Somebody tries the delegate out, and waits for the outcome.
            case test((CallbackOutcome) -> Void)
            /// Its owner is asked for consent; the challenge, when there is one, has to come back.
            /// Consent holds for the address that gave it.
            case verification(challenge: String?, url: String)
        }

        let lane: Int
        /// The place of the lane's app.
        let share: Int
        let delegate: DelegateKey
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

        var key: DeliveryKey { DeliveryKey(delegate: delegate, event: sequence) }
    }

    enum Timer {
        case retry(Retry)
        /// The lane may start something.
        case wake(DelegateKey)
        case verify(DelegateKey)
        case leaseEnds(DelegateKey)
        /// What a delegate has missed may be told again.
        case tellMissed(DelegateKey)
        case readAgain(after: LogPosition)
        case expire(DeliveryWatch)
        case runMaintenance
    }

    /// After a read of the store that failed, and after an attempt that could not be made, in nanoseconds.
    static let pause: Int64 = 1_000_000_000

    /// Events routed, and lanes visited, before the engine lets the sender work again.
    static let turnBudget = 256
    /// Attempts that one lane starts at most before it is the next one's turn.
    static let quantum = 16
    /// Events that one lane reads over in its turn, when it wants few of them.
    static let scanBudget = 512

    let ports: Ports
    let board: LaneSnapshots
    let counters: DeliveryCounters

    var lanes: [Lane?] = []
    var indices: [DelegateKey: Int] = [:]
    /// Delegates of these that are told of what is posted. The others wait behind the end of the log, or are gone.
    var activeDelegates = 0
    var freeLanes: [Int] = []
    var apps = FairScheduler()
    /// Every lane that is caught up has been offered everything up to here.
    var routed: LogPosition
    /// The end of the log as this loop has routed it, without a lock.
    var recent: EventWindow
    var pages = PageCache()
    var routingWaitsForPage = false
    /// Where the tail began when it had no longer what this loop was to route next.
    var tailBegins: LogPosition = 0

    var transfers: [OpenCallback?] = []
    var freeTransfers: [Int] = []
    var slots: Slots
    /// Lanes that wait until fewer slots are held, in the order in which they came.
    var parked = RoundRobin()
    var probes = ProbeCalendar()
    var timers = TimerQueue<Timer>()
    var waitingTimers: Int { timers.count }
    /// About so many timers belong to lanes that are gone.
    var deadTimers = 0
    var checkpoints: CheckpointBuilder
    var touchedLanes: [Int] = []
    /// What the board will say once the checkpoint is written: before that, the store doesn't know what became of events
    /// that a lane has passed.
    var boardChanges: [(key: DelegateKey, entry: LaneSnapshots.Entry?)] = []
    /// First attempts that somebody waits for.
    var watched: [DeliveryKey: DeliveryWatch] = [:]
    /// Delegates whose missed deliveries were announced within the last hour, and how many more there were since.
    var missed: [DelegateKey: Int] = [:]
    /// When what was counted is to be written; `nil`: nothing was.
    var statisticsDue: Int64?
    var statisticsAreLeaving = false
    /// Pages that were read before an erasure may come after it.
    var erased = ErasedEvents()
    let dataParser = EventDataParser()
    /// The event that was looked at last, as filters see it.
    var view: EventView?
    /// Monotonic nanoseconds, read once for each turn and each outcome.
    var now: Int64
    /// What the wall clock was ahead of it in this turn, in milliseconds.
    private(set) var wallOffset: Int64
    /// Milliseconds since 1970 UTC, at `now`.
    var wall: Int64 { now / 1_000_000 + wallOffset }
    var isStopping = false

    /// - Parameters:
    ///   - settled: the common position of lanes without a row.
    ///   - windowEvents: how many of the last events lanes find here.
    init(
        ports: Ports, settled: LogPosition, counters: DeliveryCounters = DeliveryCounters(),
        board: LaneSnapshots = LaneSnapshots(), windowEvents: Int = 8192
    ) {
        self.ports = ports
        self.counters = counters
        self.board = board
        slots = Slots(capacity: ports.sender.capacity)
        now = ports.clock.monotonic()
        wallOffset = ports.clock.wall() - now / 1_000_000
        routed = settled
        recent = EventWindow(after: settled, maxEvents: windowEvents, maxBytes: 16 << 20)
        checkpoints = CheckpointBuilder(settled: settled)
        board.settled = settled
        if ports.runMaintenance != nil { timers.insert(.runMaintenance, due: now + RetentionTask.interval) }
    }

    // MARK: A turn

    /// Does what can be done now.
    /// - Returns: when there is something to do next, in monotonic nanoseconds; `nil`: not before the sender reports
    ///   something or wakes.
    func turn() -> Int64? {
        now = ports.clock.monotonic()
        wallOffset = ports.clock.wall() - now / 1_000_000
        ageSlots()
        fireTimers()
        let routedAll = routeNewEvents()
        let startedAll = startPending()
        gatherStatistics()
        if let due = checkpoints.due, due <= now { submitCheckpoint() }
        if !routedAll || !startedAll { return now }
        // Should it sleep from now on.
        let isWaiting = (slots.isBusy || slots.isBusyWithUnproven) && !apps.isEmpty
        let room = isWaiting ? slots.nextGrown.map { now + max(0, $0 - slept) } : nil
        let statistics = statisticsAreLeaving ? nil : statisticsDue
        return [timers.nextDue, checkpoints.due, statistics, room].compactMap { $0 }.min()
    }

    var slept: Int64 { ports.sender.slept(asOf: now) }

    func fireTimers() {
        while let timer = timers.popDue(now: now) {
            switch timer {
            case .retry(let retry):
                guard let index = indices[retry.delegate] else { continue }
                lanes[index]?.hold(retry)
                enqueue(index)
            case .wake(let key):
                guard let index = indices[key] else { continue }
                lanes[index]?.wakeTimer = nil
                enqueue(index)
            case .verify(let key):
                guard let index = indices[key], let due = lanes[index]?.verifyTimer, due <= now else { continue }
                verify(index)
            case .leaseEnds(let key): if let index = indices[key] { leaseEnds(index) }
            case .tellMissed(let key): tellMissed(key)
            case .readAgain(let after): ports.readPage(after)
            case .expire(let watch): expire(watch)
            case .runMaintenance:
                ports.runMaintenance?()
                timers.insert(.runMaintenance, due: now + RetentionTask.interval)
            }
        }
    }

    var hasRoom: Bool {
        !isStopping && !slots.isFull && !slots.isBusy && !checkpoints.isFull
    }

    /// There is room for one more when each lane in line has got its turn: who keeps up doesn't push in.
    var hasRoomBesidesLine: Bool {
        hasRoom && slots.open + apps.count < slots.capacity && slots.young + apps.count < Slots.maxYoung
    }

    /// The event as filters see it, parsed once for all lanes.
    func view(of event: Event) -> EventView {
        if let view, view.event === event { return view }
        let made = EventView(event, dataParser)
        view = made
        return made
    }
}
