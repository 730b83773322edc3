import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Small values of the delivery: lines, cursors, histograms, watches, marks of what is erased.
@Suite("Records of the delivery")
struct RecordTests {
    // MARK: Lines

    @Test("deliveries of one subject follow one another; other subjects do not wait")
    func lines() {
        var lines = SubjectQueues()
        #expect(lines.enter("a", 1) == true)
        #expect(lines.enter("a", 2) == false)
        #expect(lines.enter("a", 3) == false)
        #expect(lines.enter("b", 4) == true)
        #expect(lines.standing == [2, 3])
        #expect(lines.contains(3, "a") && !lines.contains(1, "a"))
        #expect(lines.leave("a") == .delivery(2))
        #expect(lines.remove(3, "a") == true)
        #expect(lines.remove(3, "a") == false)
        #expect(lines.leave("a") == .nothing)
        #expect(lines.enter("a", 5) == true)
        #expect(lines.leave("b") == .nothing)
        #expect(lines.leave("a") == .nothing)
        #expect(lines.isEmpty)
    }

    @Test("deliveries that wait for their subject follow one another in the order of the log")
    func oldInLine() {
        var lines = SubjectQueues()
        for event: LogPosition in [7, 5, 6, 3, 4, 9] { _ = lines.enter("a", event) }
        var order: [LogPosition] = []
        while case .delivery(let next) = lines.leave("a") { order.append(next) }
        #expect(order == [3, 4, 5, 6, 9], "7 was the first")
    }

    @Test("a replay does not hold back the deliveries that wait for their subject")
    func replayInLine() {
        var waiting = WaitingDeliveries(WebhookDelegate(1) { $0.ordering = .subject }, limit: 100)
        for event: LogPosition in [7, 8] { _ = waiting.mustWait(event, "a", isReplay: false) }
        for event: LogPosition in [2, 3] { _ = waiting.mustWait(event, "a", isReplay: true) }
        _ = waiting.mustWait(9, "a", isReplay: false)
        var order: [LogPosition] = []
        while case .delivery(let next) = waiting.lines.leave("a") { order.append(next) }
        #expect(order == [8, 2, 3, 9])
    }

    @Test("a delivery that waits for its first success stays first when it is requested again, unless by name")
    func requestedAgain() {
        func row(
            _ state: WaitingDelivery.State = .retrying, isReplay: Bool = false, isNamed: Bool = false
        ) -> WaitingDelivery {
            WaitingDelivery(
                delegate: 1, event: 5, attempts: 0, dueAt: 0, state: state, isReplay: isReplay, isNamed: isNamed)
        }
        #expect(row().again(at: 1).isFirst && row().again(at: 1).again(at: 2).isFirst)
        #expect(!row(.exhausted).again(at: 1).isFirst && !row(isReplay: true).again(at: 1).isFirst)
        #expect(row().again(at: 1).isReadAgain(4) && !row().again(at: 1).isReadAgain(5))
        var named = row(isReplay: true, isNamed: true)
        named.isFirst = true
        #expect(!named.isReadAgain(4), "the settings may not select its event")
    }

    /// The store compares subjects by their bytes: one form in memory must be one in the store.
    @Test("subjects are different if their bytes are, even if Unicode has them as equivalent")
    func equivalentSubjects() {
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        #expect(composed == decomposed)
        var lines = SubjectQueues()
        #expect(lines.enter(composed, 1) == true)
        #expect(lines.enter(decomposed, 2) == true)
        #expect(lines.enter(decomposed, 3) == false)
        #expect(lines.count == 2)
        #expect(lines.contains(3, decomposed) && !lines.contains(3, composed))
        #expect(lines.longest?.utf8.elementsEqual(decomposed.utf8) == true)
        #expect(lines.store(1) { _ in true } == [3])
        #expect(lines.isStored(decomposed) && !lines.isStored(composed))
        #expect(lines.leave(composed) == .nothing)
        #expect(lines.leave(decomposed) == .stored)
    }

    @Test("a queue that is stored is loaded in its order, before what arrived after it")
    func storedLines() {
        var lines = SubjectQueues()
        for event: LogPosition in 1...6 { _ = lines.enter("a", event) }
        _ = lines.enter("b", 7)
        // The row of 6 is not written yet.
        #expect(lines.store(1) { $0 < 6 } == [2, 3, 4, 5])
        #expect(lines.isStored("a") && lines.hasStored && lines.longest == "a")
        #expect(lines.enter("a", 8) == false)
        #expect(lines.leave("a") == .stored && lines.stored("a") == 2)
        lines.loaded("a", [2, 3], next: 4)
        #expect(lines.leave("a") == .delivery(2))
        #expect(lines.leave("a") == .delivery(3))
        #expect(lines.leave("a") == .stored && lines.stored("a") == 4)
        lines.loaded("a", [4, 5], next: nil)
        var order: [LogPosition] = []
        while case .delivery(let next) = lines.leave("a") { order.append(next) }
        #expect(order == [4, 5, 6, 8])
        #expect(lines.leave("b") == .nothing)
        #expect(lines.isEmpty)
    }

    @Test("a delivery that joins a stored queue while its load is requested is loaded too, also if its event is older")
    func olderInStoredLine() {
        let delegate = WebhookDelegate(1) { $0.ordering = .subject }
        var waiting = WaitingDeliveries(delegate, limit: 8)
        func enter(_ events: ClosedRange<LogPosition>, isReplay: Bool) {
            for event in events {
                let waits = waiting.mustWait(event, "a", isReplay: isReplay)
                #expect(waits)
            }
        }
        let isFirst = !waiting.mustWait(9, "a", isReplay: false)
        #expect(isFirst)
        enter(10...14, isReplay: false)
        var left = waiting.leaveInStore { _ in true }
        #expect(left == 5)
        // The current one ends, and the queue is wanted. Before it is read, a replay of older events joins it, and leaves too.
        waiting.release("a")
        enter(2...6, isReplay: true)
        left = waiting.leaveInStore { _ in true }
        #expect(left == 5)
        let part = waiting.nextLoad()
        #expect(part == .subject("a", from: 2))
    }

    @Test("deliveries of a queue in the store that are requested again stay in it")
    func requestedInStoredLine() throws {
        var waiting = WaitingDeliveries(WebhookDelegate(1) { $0.ordering = .subject }, limit: 8)
        for event: LogPosition in 1...6 { _ = waiting.mustWait(event, "a", isReplay: false) }
        let left = waiting.leaveInStore { _ in true }
        #expect(left == 5)
        let rows = (2...LogPosition(6)).map { event in
            WaitingDelivery(
                delegate: 1, event: event, attempts: 0, dueAt: 0, state: .retrying, isReplay: true, subject: "a")
        }
        for row in rows.reversed() {
            let retry = waiting.take(row)
            #expect(retry == nil && waiting.rows.isEmpty)
        }
        waiting.release("a")
        let wanted = waiting.nextLoad()
        let part = try #require(wanted)
        _ = waiting.loaded(part, rows)
        var order: [LogPosition] = []
        while let retry = waiting.firstDue() {
            order.append(retry.event)
            waiting.started(retry.event)
            waiting.remove(retry.event)
            waiting.release("a")
        }
        #expect(order == [2, 3, 4, 5, 6])
    }

    @Test("a replay of a delivery that is queued in the store does not bring it behind later ones")
    func replayedInStoredLine() throws {
        var waiting = WaitingDeliveries(WebhookDelegate(1) { $0.ordering = .subject }, limit: 8)
        for event: LogPosition in 1...20 { _ = waiting.mustWait(event, "a", isReplay: false) }
        let left = waiting.leaveInStore { _ in true }
        #expect(left == 19)
        let waits = waiting.mustWait(2, "a", isReplay: true)
        #expect(waits)
        waiting.release("a")
        let wanted = waiting.nextLoad()
        let part = try #require(wanted)
        let rows = (2...LogPosition(17)).map { event in
            WaitingDelivery(delegate: 1, event: event, attempts: 0, dueAt: 0, state: .retrying, subject: "a")
        }
        _ = waiting.loaded(part, rows)
        var order: [LogPosition] = []
        while let retry = waiting.firstDue() {
            order.append(retry.event)
            waiting.started(retry.event)
            waiting.remove(retry.event)
            waiting.release("a")
        }
        #expect(order == Array(2...17))
    }

    @Test("a load that was under way when the ordering changed is made again, with what was queued in the store")
    func outdatedLoad() throws {
        var waiting = WaitingDeliveries(WebhookDelegate(1) { $0.ordering = .subject }, limit: 8)
        waiting.begin(LaneBacklog(count: 40))
        let firstLoad = waiting.nextLoad()
        let first = try #require(firstLoad)
        let rows = (1...LogPosition(16)).map { event in
            WaitingDelivery(delegate: 1, event: event, attempts: 1, dueAt: event, state: .retrying)
        }
        let plans = waiting.loaded(first, rows)
        #expect(plans.count == 16)
        for row in rows { waiting.remove(row.event) }
        let secondLoad = waiting.nextLoad()
        let second = try #require(secondLoad)
        #expect(second == .due(after: 16, event: 16))
        waiting.reorder(.none)
        let found = waiting.loaded(second, [])
        #expect(found.isEmpty)
        let third = waiting.nextLoad()
        #expect(third == first)
    }

    // MARK: Replays

    @Test("a replay ends when everything was read and nothing is open, and its cursor is the settled prefix")
    func replay() {
        var replay = ReplayCursor(Replay(id: 1, delegate: 1, cursor: 4, until: 7, createdAt: 0))
        #expect(replay.next == 5 && replay.cursor == 4 && replay.hasWork)
        for event: LogPosition in 5...7 {
            replay.pass(event)
            replay.started(event)
        }
        #expect(!replay.hasWork && !replay.isOver && replay.cursor == 4)
        replay.ended(6)
        #expect(replay.cursor == 4)
        replay.ended(5)
        #expect(replay.cursor == 6)
        replay.pass(3)
        #expect(replay.next == 8)
        replay.ended(7)
        #expect(replay.isOver && replay.cursor == 7)
    }

    // MARK: Attempts

    @Test("a search by time also finds what ended before an attempt that has taken hours, such as that of a lease")
    func attempts() throws {
        let store = MemoryStore()
        let hour: Int64 = 3_600_000
        func record(from start: Int64, to end: Int64) -> AttemptRecord {
            AttemptRecord(
                delegate: 1, event: 1, number: 1, startedAt: start, duration: (end - start) * 1_000, status: 200,
                failure: nil, detail: "", excerpt: [])
        }
        try store.transaction { (transaction) throws(StoreError) in
            var checkpoint = Checkpoint()
            checkpoint.attempts = [
                record(from: hour, to: hour + 1), record(from: 8 * hour, to: 8 * hour + 1),
                record(from: 2 * hour, to: 9 * hour),
            ]
            try transaction.write(checkpoint)
        }
        var search = AttemptSearch(AttemptQuery(delegate: 1))
        search.since = 8 * hour
        let (found, next) = try search.page(store.makeReader())
        #expect(found.map(\.record.startedAt) == [8 * hour] && next == nil)
    }

    // MARK: Histograms

    @Test("a percentile is never below the true one, and at most a quarter above", arguments: [0.5, 0.9, 0.99, 1])
    func percentiles(share: Double) throws {
        var random = SeededRandom(seed: 11)
        var histogram = LatencyHistogram()
        let durations = (0..<5_000).map { _ in Int64(random.number(0...(1 << random.number(1...36)))) }
        for duration in durations { histogram.add(microseconds: duration) }
        let exact = durations.sorted()[Int((share * 5_000).rounded(.up)) - 1]
        let found = try #require(histogram.percentile(share))
        #expect(found >= exact && found <= exact + max(1, exact / 4))
        #expect(histogram.count == 5_000)
    }

    @Test("buckets ascend without a gap, and contain the values that they claim")
    func buckets() {
        for bucket in UInt8(0)...200 {
            let last = LatencyHistogram.upperBound(bucket)
            #expect(LatencyHistogram.bucket(last) == bucket)
            #expect(LatencyHistogram.bucket(last + 1) == bucket + 1)
        }
        #expect(LatencyHistogram.upperBound(LatencyHistogram.bucket(.max)) == .max)
        #expect(LatencyHistogram.bucket(-5) == 0)
        #expect(LatencyHistogram().percentile(0.5) == nil)
    }

    @Test("a histogram survives its text form, and histograms add up")
    func text() throws {
        var one = LatencyHistogram()
        var other = LatencyHistogram()
        for number: Int64 in 1...100 {
            one.add(microseconds: number * number)
            other.add(microseconds: number)
        }
        #expect(LatencyHistogram(text: one.text) == one)
        #expect(LatencyHistogram(text: "")?.count == 0)
        for wrong in ["x", "1", "1:0", "1:-2", "300:1", "1:2:3"] { #expect(LatencyHistogram(text: wrong) == nil) }
        one.add(other)
        #expect(one.count == 200)
    }

    // MARK: Watches

    @Test("a watch ends once, when all expected outcomes have arrived, in any order")
    func watch() {
        let ends = Recorder<Int?>()
        func made(events: Int, loops: Int) -> DeliveryWatch {
            DeliveryWatch(events: events, routers: loops) { ends.record($0?.count) }
        }
        let report = DeliveryWatch.Report(delegate: WebhookDelegate(1), event: Event("a"), outcome: .success)
        let watch = made(events: 1, loops: 2)
        watch.routed(to: 2)
        watch.report(report)
        watch.report(report)
        // Both of the first loop have been told before the second one has routed.
        #expect(ends.items.isEmpty)
        watch.routed(to: 1)
        watch.withdraw()
        #expect(ends.items == [2])
        watch.expire()
        #expect(ends.items == [2])
        let late = made(events: 1, loops: 1)
        late.expire()
        late.routed(to: 0)
        #expect(ends.items == [2, nil])
    }

    // MARK: Erased events

    @Test(
        "erased data is removed from earlier copies; beyond a bound the app with the most events loses its oldest ones")
    func erased() {
        var erased = ErasedEvents()
        let other = AppKey(rawValue: 2)
        erased.insert([2, 3], of: .default)
        let batch = erased.applied(
            to: EventBatch(first: 1, events: (1...4).map { Event("a", id: "e\($0)", subject: "s") }))
        #expect(batch.events.map(\.isErased) == [false, true, true, false])
        #expect(batch.events[1].subject == nil)
        var checkpoint = Checkpoint()
        checkpoint.waiting = (1...4).map {
            WaitingDelivery(delegate: 1, event: $0, attempts: 1, dueAt: 0, state: .dropped)
        }
        #expect(erased.applied(to: checkpoint).waiting.map(\.event) == [1, 4])
        for first in stride(from: LogPosition(1_000), to: 50_000, by: 1_000) {
            erased.insert(Set(first..<first + 1_000), of: other)
        }
        #expect(erased.contains(2) && erased.contains(3))
        #expect(!erased.contains(1_000) && erased.contains(49_999))
    }
}
