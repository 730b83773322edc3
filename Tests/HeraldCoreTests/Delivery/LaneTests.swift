import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Lane")
struct LaneTests {
    private let second: Int64 = 1_000_000_000

    private func lane(_ change: (inout WebhookSettings) -> Void = { _ in }) -> Lane {
        Lane(WebhookDelegate(1, change), next: nil, position: 0)
    }

    private func finish(
        _ lane: Lane, _ event: LogPosition = 1, isRetry: Bool = false, attempts: Int = 0,
        with outcome: CallbackOutcome = .success, now: Int64 = 0
    ) -> Lane.Settlement {
        lane.finished(
            .init(
                sequence: event, origin: isRetry ? .retry : .log, subject: nil, attempts: attempts, outcome: outcome,
                start: .init(at: now, window: 0, epoch: 0, isProbe: lane.isFailing), now: now, wall: now / 1_000_000,
                random: 1)
        ).settlement
    }

    /// Fails until nothing but probes is sent; the next one is due at six seconds.
    private func stop(_ lane: Lane) {
        for time in 1...5 { _ = finish(lane, LogPosition(time), with: .failure, now: Int64(time) * second) }
    }

    @Test("a failing delegate with a new address, or one that is resumed, does not wait for a probe")
    func mended() {
        func mayStart(_ delegates: WebhookDelegate..., at time: Int64? = nil) -> Bool {
            let lane = lane()
            stop(lane)
            for delegate in delegates { lane.change(to: delegate) }
            return lane.mayStart(now: time ?? 5 * second)
        }
        #expect(!mayStart(at: 6 * second - 1))
        #expect(!mayStart(WebhookDelegate(1) { $0.description = "other" }))
        #expect(mayStart(WebhookDelegate(1) { $0.url += "/new" }))
        #expect(!mayStart(WebhookDelegate(1, status: .paused)))
        #expect(mayStart(WebhookDelegate(1, status: .paused), WebhookDelegate(1)))
    }

    @Test("a failed probe is an attempt that uses up no retry")
    func held() {
        let lane = lane { $0.retrySchedule = [1] }
        stop(lane)
        #expect(lane.rows[1]?.attempts == 1)
        hold(lane, 1)
        #expect(startRetry(lane) == 1)
        #expect(finish(lane, 1, isRetry: true, attempts: 1, with: .failure, now: 5 * second) == .held)
        #expect(lane.rows[1]?.attempts == 2)
        #expect(lane.rows[1]?.uncounted == 1)
    }

    @Test("a rejection with Retry-After is an attempt that uses up no retry")
    func excused() {
        let lane = lane { $0.retrySchedule = [1] }
        #expect(
            finish(lane, 1, with: .answered(429, retryAfter: 7)) == .retry(after: 7 * second, attempts: 1, turn: 1))
        #expect(lane.rows[1]?.attempts == 1)
        #expect(lane.rows[1]?.uncounted == 1)
    }

    @Test("twenty rejections of a delivery use up no retry, and not twenty after each retry that was used up")
    func excusedInAll() {
        let lane = lane { $0.retrySchedule = [1] }
        let rejection = CallbackOutcome.answered(429, retryAfter: 7)
        _ = finish(lane, 1, with: rejection)
        for attempts in 1...20 {
            hold(lane, 1)
            #expect(startRetry(lane) == 1)
            _ = finish(lane, 1, isRetry: true, attempts: attempts, with: rejection)
        }
        #expect(lane.rows[1]?.attempts == 21)
        #expect(lane.rows[1]?.uncounted == 20)
        hold(lane, 1)
        #expect(startRetry(lane) == 1)
        let last = finish(lane, 1, isRetry: true, attempts: 21, with: rejection)
        #expect(last == .exhausted(attempts: 22, uncounted: 20))
    }

    /// Makes a waiting delivery due.
    private func hold(_ lane: Lane, _ event: LogPosition) {
        for turn: UInt32 in 0...20_000 { lane.waiting.hold(Retry(delegate: 1, event: event, turn: turn)) }
    }

    /// Starts the retry whose turn it is.
    private func startRetry(_ lane: Lane) -> LogPosition? {
        guard case .retry(let retry) = lane.nextSource() else { return nil }
        lane.started(retry.event, .retry, now: 0)
        return retry.event
    }

    private func row(_ event: LogPosition, attempts: Int = 1) -> WaitingDelivery {
        WaitingDelivery(delegate: 1, event: event, attempts: attempts, dueAt: 0, state: .retrying)
    }

    @Test("with 10,000 waiting deliveries in memory it accepts no new event until a checkpoint is written")
    func maxWaiting() {
        let lane = Lane(WebhookDelegate(1), next: 20_000, position: 19_999)
        for event in 1...LogPosition(LoopLimits().waitingDeliveries) { _ = lane.waiting.take(row(event)) }
        #expect(!lane.mayTakeNewEvent)
        hold(lane, 3)
        #expect(startRetry(lane) == 3)
        _ = finish(lane, 3, isRetry: true, attempts: 1)
        #expect(lane.mayTakeNewEvent)
        let left = lane.waiting.leaveInStore { _ in true }
        #expect(left > 5_000)
        #expect(lane.rows.count <= 5_000)
        #expect(lane.waiting.count == 9_999)
    }

    @Test("a replay leaves out a delivery that blocks its subject, also when its row is only in the store")
    func replayOfStoredRow() {
        let lane = Lane(WebhookDelegate(1) { $0.ordering = .subject }, next: nil, position: 8, maxWaiting: 8)
        for event in 1...LogPosition(8) {
            let delivery = WaitingDelivery(
                delegate: 1, event: event, attempts: 1, dueAt: event, state: .retrying, subject: "s\(event)")
            _ = lane.waiting.take(delivery)
        }
        let left = lane.waiting.leaveInStore { _ in true }
        #expect(left == 5 && lane.rows[8] == nil)
        #expect(lane.makesAnyway(8, offered: 8))
        #expect(!lane.makesAnyway(9, offered: 9))
    }

    @Test("a delivery whose event is removed releases its subject, also when its row was requested or loaded since")
    func subjectOfRemovedEvent() throws {
        func delivery(_ event: LogPosition, _ subject: String?) -> WaitingDelivery {
            WaitingDelivery(
                delegate: 1, event: event, attempts: 1, dueAt: event, state: .retrying, subject: subject)
        }
        let lane = Lane(WebhookDelegate(1) { $0.ordering = .subject }, next: nil, position: 9, maxWaiting: 8)
        for event in 1...LogPosition(8) { _ = lane.waiting.take(delivery(event, "s\(event)")) }
        let left = lane.waiting.leaveInStore { _ in true }
        #expect(left == 5)
        // They wait for one in memory, one that is requested while it is only in the store, and one that is loaded.
        for (event, subject) in [(9, "s1"), (10, "s7"), (11, "s8")] as [(LogPosition, String)] {
            _ = lane.waiting.take(delivery(event, subject))
        }
        _ = lane.waiting.take(delivery(1, nil))
        _ = lane.waiting.take(delivery(7, nil))
        for event: LogPosition in [2, 3] { _ = lane.waiting.drop(event) }
        let load = try #require(Self.nextLoad(of: lane))
        _ = lane.waiting.loaded(load, [4, 5, 6, 8].map { delivery($0, nil) })
        var released: [LogPosition?] = []
        for event: LogPosition in [1, 7, 8] {
            _ = lane.waiting.drop(event)
            let next = lane.waiting.firstDue()?.event
            released.append(next)
            if let next { lane.waiting.started(next) }
        }
        #expect(released == [9, 10, 11])
    }

    private static func nextLoad(of lane: Lane) -> StoredRowsQuery.Part? { lane.waiting.nextLoad() }

    @Test("what a replay has delivered is not loaded again while the store still has its row")
    func loadAfterReplay() throws {
        let lane = Lane(WebhookDelegate(1), next: nil, position: 8, maxWaiting: 8)
        let rows = (1...LogPosition(8)).map { event in
            WaitingDelivery(delegate: 1, event: event, attempts: 1, dueAt: event, state: .retrying)
        }
        for row in rows { _ = lane.waiting.take(row) }
        let left = lane.waiting.leaveInStore { _ in true }
        #expect(left == 5)
        lane.replays.append(Replay(id: 1, delegate: 1, cursor: 7, until: 8, createdAt: 0))
        _ = lane.replays.pass(8)
        lane.started(8, .replay(1), now: 0)
        _ = lane.finished(
            .init(
                sequence: 8, origin: .replay(1), subject: nil, attempts: 0, outcome: .success,
                start: .init(at: 0, window: 0, epoch: 0, isProbe: false), now: 0, wall: 0, random: 0))
        _ = lane.waiting.drop(1)
        let next = lane.waiting.nextLoad()
        let load = try #require(next)
        _ = lane.waiting.loaded(load, Array(rows[3...]))
        #expect(lane.rows.keys.sorted() == [2, 3, 4, 5, 6, 7])
    }

    @Test("a restart makes no retry earlier than the schedule says, which may be a week", arguments: [0, 1])
    func longDelay(restarts: Int) throws {
        let (world, key) = try World.registered { $0.retrySchedule = [604_800] }
        world.answer = { _ in .failure }
        world.publishAndSettle()
        for _ in 0..<restarts { try world.restart() }
        world.answer = { _ in .success }
        world.advance(seconds: 600_000)
        #expect(world.arrivals(key).count == 1)
        world.advance(seconds: 10_000)
        #expect(world.arrivals(key).count == 2)
    }

    @Test("a clock that was set back between two starts postpones a retry by two days at most")
    func clockSetBack() throws {
        let (memory, clock) = (MemoryStore(), ManualClock())
        try memory.transaction { (transaction) throws(StoreError) in
            try transaction.setDelegate(WebhookDelegate(1) { $0.retrySchedule = [60] })
            try transaction.append(Event("a.x", id: "e"))
            var checkpoint = Checkpoint()
            checkpoint.settled = 1
            checkpoint.waiting = [
                WaitingDelivery(
                    delegate: 1, event: 1, attempts: 1, dueAt: clock.wall + 365 * 86_400_000, state: .retrying)
            ]
            try transaction.write(checkpoint)
        }
        let world = try World(memory: memory, clock: clock)
        world.advance(seconds: 172_799)
        #expect(world.arrivals(1).isEmpty)
        world.advance(seconds: 2)
        #expect(world.arrivals(1) == ["e"])
    }

    @Test("deliveries that are requested again and again while the lane is paused are queued once")
    func requestedAgain() {
        let lane = Lane(WebhookDelegate(1, status: .paused), next: nil, position: 0)
        for _ in 1...1_000 {
            for event: LogPosition in 1...10 {
                if let retry = lane.waiting.take(row(event)) { lane.waiting.hold(retry) }
            }
        }
        #expect(lane.waiting.dueCount <= 1_100)
        var order: [LogPosition] = []
        while let retry = lane.waiting.firstDue() {
            lane.waiting.started(retry.event)
            order.append(retry.event)
        }
        #expect(order == Array(1...10))
    }

    @Test("late retries get every fourth turn while there are new events, and all of them when there are none")
    func turns() {
        let lane = Lane(WebhookDelegate(1), next: 5, position: 4)
        for event: LogPosition in 1...3 {
            _ = lane.waiting.take(row(event))
            hold(lane, event)
        }
        var order: [LogPosition] = []
        for _ in 1...6 {
            switch lane.nextSource() {
            case .retry(let retry):
                lane.started(retry.event, .retry, now: 0)
                order.append(retry.event)
            case .log(let next):
                lane.pass(next)
                lane.started(next, .log, now: 0)
                order.append(next)
            default: break
            }
        }
        #expect(order == [5, 6, 7, 1, 8, 9])
        lane.catchUp()
        #expect(startRetry(lane) == 2)
        #expect(startRetry(lane) == 3)
    }

    @Test("a paused lane starts nothing, whatever is pending")
    func paused() {
        let lane = Lane(WebhookDelegate(1, status: .paused), next: 1, position: 0)
        _ = lane.waiting.take(row(1))
        hold(lane, 1)
        #expect(!lane.mayStart(now: .max))
    }

    @Test("the cursor is the settled prefix")
    func cursor() {
        let lane = lane()
        for event: LogPosition in 1...3 { lane.started(event, .log, now: 0) }
        _ = finish(lane, 2)
        #expect(lane.cursor == 0)
        _ = finish(lane, 1)
        #expect(lane.cursor == 2)
        lane.fallBehind(from: 9)
        #expect(lane.cursor == 2)
        _ = finish(lane, 3)
        #expect(lane.cursor == 8)
        lane.pass(9)
        #expect(lane.cursor == 9)
        lane.catchUp()
        #expect(lane.isSettled)
    }
}
