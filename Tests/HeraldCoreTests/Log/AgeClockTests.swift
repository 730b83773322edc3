import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Ages when the clock is set")
struct AgeClockTests {
    private let monotonic = ManualClock()
    /// Milliseconds by which the wall clock is wrong.
    private let error = Counter64()
    private let day: Int64 = 86_400_000

    private final class Counter64: Sendable {
        let value = Atomic<Int64>(0)
    }

    private var clock: Clock { monotonic.clock.ahead { [error] in error.value.load(ordering: .relaxed) } }

    private func step(_ milliseconds: Int64) { error.value.store(milliseconds, ordering: .relaxed) }

    @Test("a step of eight days for five seconds makes nothing older")
    func shortStep() {
        let ages = AgeClock(clock)
        let before = ages.now(forAge: 7 * day)
        step(8 * day)
        for _ in 1...5 {
            monotonic.advance(seconds: 1)
            #expect(ages.now(forAge: 7 * day) <= before + 5_000)
        }
        step(0)
        monotonic.advance(seconds: 1)
        #expect(ages.now(forAge: 7 * day) == before + 6_000)
    }

    @Test("a step that lasts counts for an age when that age has passed")
    func lastingStep() {
        let ages = AgeClock(clock)
        let before = ages.now(forAge: 0)
        step(8 * day)
        #expect(ages.now(forAge: day) == before)
        #expect(ages.now(forAge: 0) == before + 8 * day)
        monotonic.advance(seconds: 86_399)
        #expect(ages.now(forAge: day) == before + 86_399_000)
        monotonic.advance(seconds: 1)
        #expect(ages.now(forAge: day) == before + 9 * day)
        #expect(ages.now(forAge: 2 * day) == before + day)
    }

    @Test("a clock that is set back makes nothing older, and slow corrections are followed")
    func setBack() {
        let ages = AgeClock(clock)
        let before = ages.now(forAge: day)
        step(-8 * day)
        #expect(ages.now(forAge: day) == before - 8 * day)
        var wrong: Int64 = -8 * day
        for _ in 1...100 {
            monotonic.advance(seconds: 1)
            wrong += 50
            step(wrong)
            _ = ages.now(forAge: day)
        }
        #expect(ages.now(forAge: day) == before - 8 * day + 105_000)
    }

    @Test("long after the last mark, nothing becomes older in the first ten minutes after a start")
    func longPause() {
        let last = clock.wall()
        step(40 * day)
        let ages = AgeClock(clock, lastMark: last)
        #expect(ages.now(forAge: day) == last)
        monotonic.advance(seconds: 599)
        #expect(ages.now(forAge: 0) == last)
        monotonic.advance(seconds: 1)
        #expect(ages.now(forAge: 0) == last + 40 * day + 600_000)
    }

    @Test("a clock that is synchronized after the start has made nothing older")
    func synchronized() {
        let last = clock.wall()
        step(4_000 * day)
        let ages = AgeClock(clock, lastMark: last)
        #expect(ages.now(forAge: day) == last)
        monotonic.advance(seconds: 30)
        step(0)
        #expect(ages.now(forAge: day) == last + 30_000)
        monotonic.advance(seconds: 86_400)
        #expect(ages.now(forAge: day) == last + 86_430_000)
    }

    @Test("long after the last mark, the writer marks nothing when a hub starts")
    func unmarked() async throws {
        let store = RefusingStore()
        let last = LogMark(sequence: 1, time: clock.wall())
        try store.memory.transaction { (transaction) throws(StoreError) in
            try transaction.append([Event(id: "before")])
            try transaction.addMark(last)
        }
        step(40 * day)
        let bench = try HubBench(store: store, clock: clock)
        _ = try await bench.post("a.x")
        #expect(store.memory.read { $0.marks } == [last])
        await bench.stop()
    }

    @Test("a clock that is set back delays no periodic task")
    func cadence() {
        let cadence = Cadence(1_000, clock)
        step(-8 * day)
        #expect(!cadence.isDue())
        monotonic.advance(seconds: 1)
        #expect(cadence.isDue() && !cadence.isDue())
    }

    @Test("a step forgets no response to an idempotency key")
    func answers() async throws {
        let bench = try HubBench(clock: clock)
        let idempotency = Idempotency<[PublishedEvent]>(key: "k", fingerprint: [1]) { _ in
            StoredAnswer(fingerprint: [1], status: 202, headers: [], body: [])
        }
        for id in ["first", "repeated"] {
            let draft = EventDraft(event: Event("a.x", id: id), mayExist: false)
            let result = await bench.publish([draft], idempotency: idempotency)
            if case .replayed = result { #expect(id == "repeated") } else { #expect(id == "first", "\(result)") }
            step(2 * day)
        }
        #expect(bench.hub.head == 1)
        await bench.stop()
    }

    @Test("the response to an idempotency key is remembered for 24 hours")
    func answersOfOneDay() async throws {
        let bench = try HubBench(clock: monotonic.clock)
        let idempotency = Idempotency<[PublishedEvent]>(key: "k", fingerprint: [1]) { _ in
            StoredAnswer(fingerprint: [1], status: 202, headers: [], body: [])
        }
        func publish(_ id: String) async {
            let draft = EventDraft(event: Event("a.x", id: id), mayExist: false)
            _ = await bench.publish([draft], idempotency: idempotency)
        }
        await publish("first")
        monotonic.advance(seconds: 86_399)
        await publish("repeated")
        #expect(bench.hub.head == 1)
        monotonic.advance(seconds: 1)
        await publish("second")
        #expect(bench.hub.head == 2)
        await bench.stop()
    }

    @Test("a step removes no event that is younger than the retention, and no delegate whose lease has time left")
    func retention() throws {
        let store = MemoryStore()
        try store.transaction { (transaction) throws(StoreError) in
            try transaction.append((1...9).map { Event(id: "e\($0)") })
            try transaction.addMark(LogMark(sequence: 8, time: clock.wall()))
            var checkpoint = Checkpoint()
            checkpoint.settled = 9
            try transaction.write(checkpoint)
        }
        var retention = Retention()
        retention.events = 7 * day
        var planner = RetentionPlanner(retention)
        let ages = AgeClock(clock)
        func next() throws -> RetentionPlanner.Step {
            try planner.next(
                .init(
                    reader: store.makeReader(), selection: { _ in nil }, stored: (9, 99),
                    now: clock.monotonic() / 1_000_000, end: { ages.now(forAge: $0) - $0 }))
        }
        step(8 * day)
        monotonic.advance(seconds: 5)
        let during = try next()
        #expect(during.ending == nil && during.write?.events.isEmpty != false)
        step(0)
        monotonic.advance(seconds: 7 * 86_400 + 10)
        let after = try next()
        #expect(after.ending != nil || after.write?.events.isEmpty == false, "an age that has passed still counts")
    }
}
