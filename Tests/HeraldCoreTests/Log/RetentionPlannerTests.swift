import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("What retention removes next")
struct RetentionPlannerTests {
    private let store = MemoryStore()

    /// The events 1 to 100, of about 1,000 bytes each; those at every tenth position have the type `b.x`.
    private func fill(settled: LogPosition, lanes: [LanePosition] = [], waiting: [LogPosition] = []) throws {
        let data = Array("\"\(String(repeating: "x", count: 1_000))\"".utf8)
        try store.transaction { (transaction) throws(StoreError) in
            for key in 1...2 as ClosedRange<DelegateKey> { try transaction.setDelegate(WebhookDelegate(key)) }
            for number in 1...100 {
                let type = number % 10 == 0 ? "b.x" : "a.x"
                try transaction.append(Event(id: "e\(number)", type: type, subject: nil, time: 0, data: data))
            }
            var checkpoint = Checkpoint()
            checkpoint.settled = settled
            checkpoint.lanes = lanes
            checkpoint.waiting = waiting.map {
                WaitingDelivery(delegate: 2, event: $0, attempts: 1, dueAt: 0, state: .retrying)
            }
            try transaction.write(checkpoint)
        }
    }

    private func planner(bytes: Int64? = nil, attempts: Int64? = nil) -> RetentionPlanner {
        var retention = Retention()
        (retention.events, retention.attempts, retention.bytes, retention.attemptBytes) = (nil, nil, bytes, attempts)
        return RetentionPlanner(retention)
    }

    /// Both delegates want events of the type `b.x`.
    private func next(
        _ planner: inout RetentionPlanner, now: Int64 = 0, old: LogPosition = 0
    ) throws -> RetentionPlanner.Step {
        let sizes = store.read { $0.eventSizes }
        let bytes = sizes.reduce(0) { $0 + $1.bytes }
        return try planner.next(
            .init(
                reader: store.makeReader(), selection: { _ in EventSelection(events: [.exact("b.x")]) },
                stored: (Int64(sizes.count), Int64(bytes)), now: now, end: { now - $0 }), old: old)
    }

    /// The next action of a node that removes nothing.
    private func nextEnding(
        _ planner: inout RetentionPlanner, now: Int64 = 0, old: LogPosition
    ) throws -> RetentionPlanner.Ending? {
        try planner.nextEnding(
            .init(reader: store.makeReader(), selection: { _ in nil }, stored: (0, 0), now: now, end: { now - $0 }),
            old: old)
    }

    private func apply(_ step: RetentionPlanner.Step) throws {
        try store.transaction { (transaction) throws(StoreError) in
            for range in step.write?.events ?? [] { _ = try transaction.removeEvents(range, limit: 500) }
        }
    }

    private var left: [LogPosition] { store.read { $0.eventSizes.map(\.position) } }

    @Test("nothing is removed within the budget")
    func within() throws {
        try fill(settled: 100)
        var planner = planner(bytes: 110_000)
        let step = try next(&planner)
        #expect(step.write?.events.isEmpty != false && step.ending == nil)
    }

    @Test("what all have got is removed first, from the oldest on, until the budget is kept")
    func settled() throws {
        try fill(settled: 100)
        var planner = planner(bytes: 50_000)
        let step = try next(&planner)
        let removed = try #require(step.write?.events)
        #expect(step.write?.cause == .size && step.ending == nil)
        #expect(removed.count == 1 && removed[0].lowerBound == 1)
        #expect((52...56).contains(removed[0].upperBound))
        try apply(step)
        #expect(try next(&planner).write?.events.isEmpty != false)
    }

    @Test(
        "events that a lane still wants stay, those around them go, and the lane's are ended when nothing else is left")
    func undelivered() throws {
        try fill(settled: 100, lanes: [LanePosition(delegate: 1, cursor: 0, position: 0)])
        var planner = planner(bytes: 15_000)
        let step = try next(&planner)
        #expect(step.ending == nil)
        try apply(step)
        #expect(left.filter { $0 % 10 == 0 } == stride(from: 10, through: 100, by: 10).map { $0 })
        #expect(left.count < 16)

        planner = self.planner(bytes: 5_000)
        try apply(try next(&planner))
        let wanted = stride(from: 10, through: 100, by: 10).map { LogPosition($0) }
        #expect(left == wanted)
        let last = try next(&planner)
        let ending = try #require(last.ending)
        #expect(last.write?.events.isEmpty != false)
        #expect(ending.gone.map(\.sequence) == Array(wanted.prefix(ending.gone.count)))
        #expect((5...6).contains(ending.gone.count) && ending.through == ending.gone.last?.sequence)
        #expect(ending.cause == .size)
        #expect(try next(&planner).ending == nil, "the loops have been told")
        // Their checkpoint.
        try store.transaction { (transaction) throws(StoreError) in
            var checkpoint = Checkpoint()
            checkpoint.lanes = [LanePosition(delegate: 1, cursor: ending.through, position: ending.through)]
            try transaction.write(checkpoint)
        }
        try apply(try next(&planner))
        #expect(left == Array(wanted.dropFirst(ending.gone.count)))
    }

    @Test("what a lane has passed since is found without looking at everything again")
    func passed() throws {
        try fill(
            settled: 100,
            lanes: [
                LanePosition(delegate: 1, cursor: 0, position: 0), LanePosition(delegate: 2, cursor: 50, position: 50),
            ])
        var planner = planner(bytes: 10_000)
        try apply(try next(&planner))
        #expect(left == stride(from: 10, through: 100, by: 10).map { $0 })
        try store.transaction { (transaction) throws(StoreError) in
            var checkpoint = Checkpoint()
            checkpoint.lanes = [LanePosition(delegate: 1, cursor: 30, position: 30)]
            try transaction.write(checkpoint)
        }
        let step = try next(&planner)
        #expect(step.write?.events == [10...10])
    }

    @Test("retries and replays hold their events, too")
    func held() throws {
        try fill(settled: 100, waiting: [7])
        _ = try store.transaction { (transaction) throws(StoreError) in
            _ = try transaction.addReplay(delegate: 1, after: 15, until: 45, at: 0)
        }
        var planner = planner(bytes: 100)
        try apply(try next(&planner))
        #expect(left == [7, 20, 30, 40, 100], "the newest event stays")
    }

    @Test("events that are not settled are not even ended")
    func unsettled() throws {
        try fill(settled: 40)
        var planner = planner(bytes: 100)
        try apply(try next(&planner))
        #expect(left.first == 41)
        #expect(try next(&planner).ending == nil)
    }

    @Test("by age, settled events are removed, and deliveries of the others are ended")
    func age() throws {
        try fill(settled: 100, lanes: [LanePosition(delegate: 1, cursor: 0, position: 0)])
        var planner = planner()
        let step = try next(&planner, old: 25)
        #expect(step.write?.events == [1...9, 11...19, 21...25] && step.write?.cause == .age)
        try apply(step)
        let ending = try #require(try next(&planner, old: 25).ending)
        #expect(ending.gone.map(\.sequence) == [10, 20] && ending.cause == .age)
    }

    @Test("a node that leaves the removal to another one ends deliveries by age, if some lane or row needs old events")
    func otherNode() throws {
        try fill(settled: 100, lanes: [LanePosition(delegate: 1, cursor: 30, position: 30)], waiting: [12])
        var planner = planner()
        #expect(try nextEnding(&planner, old: 0) == nil)
        #expect(try nextEnding(&planner, old: 11) == nil, "nothing needs them")
        let row = try nextEnding(&planner, old: 20)
        #expect(row?.through == 20 && row?.cause == .age)
        let lane = try nextEnding(&planner, old: 35)
        #expect(lane?.gone.map(\.sequence) == Array(1...35))
        #expect(try nextEnding(&planner, old: 35) == nil, "the loops have the message")
    }

    @Test("the loops of such a node get a message, too")
    func otherLoops() async throws {
        try fill(settled: 100, lanes: [LanePosition(delegate: 1, cursor: 0, position: 0)])
        try store.transaction { (transaction) throws(StoreError) in
            try transaction.addMark(LogMark(sequence: 20, time: 0))
        }
        let sent = Recorder<LogPosition>()
        let readers = try ReaderPool(store: store, threads: 1, health: StorageHealth())
        let task = RetentionTask(
            Retention(), readers: readers, intake: Intake(maxEvents: 9, maxBytes: 999),
            committed: CommittedState(try store.recover()), attemptRoom: AttemptRoom(), clock: .system,
            send: { message in
                if case .trim(through: let through, gone: _, _) = message { sent.record(through) }
            })
        task.runWhenDue(isResponsible: false)
        await offPool { readers.stop() }
        #expect(sent.items == [20])
    }

    @Test(
        "such a node forgets the room for attempts that it has measured: it would remove too much when it removes again"
    )
    func otherRoom() async throws {
        let readers = try ReaderPool(store: store, threads: 1, health: StorageHealth())
        let room = AttemptRoom()
        let task = RetentionTask(
            Retention(), readers: readers, intake: Intake(maxEvents: 9, maxBytes: 999),
            committed: CommittedState(try store.recover()), attemptRoom: room, clock: .system, send: { _ in })
        room.measured(5_000, before: 0)
        task.runWhenDue(isResponsible: false)
        await offPool { readers.stop() }
        // The other one has removed as much.
        room.changed(recorded: 1_000_000, removed: 0)
        #expect(room.excess(adding: 0) == 0)
        // More may be removed than is recorded here.
        room.changed(recorded: 0, removed: 2_000_000)
        #expect(room.excess(adding: 0) == 0)
    }

    @Test("a budget of attempts removes the oldest attempts, and no events")
    func attempts() throws {
        try fill(settled: 100)
        try store.transaction { (transaction) throws(StoreError) in
            var checkpoint = Checkpoint()
            checkpoint.attempts = (1...100).map { attempt(1, $0, startedAt: 0) }
            try transaction.write(checkpoint)
        }
        var planner = planner(bytes: 200_000, attempts: 5_000)
        let write = try #require(try next(&planner).write)
        // Of 10,000 bytes 4,750 are left.
        #expect(write.attemptsThrough == 53 && write.events.isEmpty)
    }

    @Test("attempts and statistics that are too old are removed, every ten seconds")
    func attemptsByAge() throws {
        try fill(settled: 100)
        var retention = Retention()
        (retention.events, retention.attempts, retention.bytes, retention.attemptBytes) = (nil, 5_000, nil, nil)
        var planner = RetentionPlanner(retention)
        let start = 3 * DeliveryStatistics.lifetime
        let first = try next(&planner, now: start).write
        #expect(first?.attemptsBefore == start - 5_000)
        #expect(first?.statisticsBefore == start - DeliveryStatistics.lifetime)
        #expect(first?.events == [] && first?.attemptsThrough == 0)
        let soon = try next(&planner, now: start + 9_999).write
        #expect(soon?.attemptsBefore ?? 0 == 0 && soon?.statisticsBefore ?? 0 == 0)
        let second = try next(&planner, now: start + 10_000).write
        #expect(second?.attemptsBefore == start + 5_000)
    }

    @Test(
        "ranges that overlap become one",
        arguments: [
            ([1...3, 7...9, 3...7], [1...9]), ([5...6, 1...2], [1...2, 5...6]), ([4...4], [4...4]), ([], []),
            ([1...2, 8...9, 4...5], [1...2, 4...5, 8...9]), ([1...9, 2...3, 9...9], [1...9]),
        ] as [([ClosedRange<LogPosition>], [ClosedRange<LogPosition>])])
    func merge(_ ranges: [ClosedRange<LogPosition>], _ merged: [ClosedRange<LogPosition>]) {
        #expect(RetentionPlanner.merged(ranges) == merged)
    }

    @Test("ranges of very many lanes that have advanced are merged at once")
    func mergeMany() {
        let ranges = (0..<200_000 as Range<LogPosition>).map { 4 * $0...4 * $0 + 1 }
        #expect(RetentionPlanner.merged(ranges.reversed()) == ranges)
    }
}
