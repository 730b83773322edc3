import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The share of the log of each app")
struct LogUsageTests {
    private let other = AppKey(rawValue: 2)

    private func event(_ number: Int, _ app: AppKey) -> Event {
        Event(app: app, id: "e\(number)", type: "a.b", subject: nil, time: 0, data: Array("{}".utf8))
    }

    /// A log whose events belong to the apps in turn, as far as the rule says so.
    private func usage(_ count: Int, recentEvents: Int = 100_000, _ owner: (Int) -> AppKey) -> LogUsage {
        let recentEvents = RecentEvents(head: 0, maxEvents: recentEvents)
        let usage = LogUsage(Recovery(), recentEvents)
        for first in stride(from: 1, through: count, by: 300) {
            let batch = EventBatch(
                first: LogPosition(first), events: (first..<min(count + 1, first + 300)).map { event($0, owner($0)) })
            recentEvents.published(batch)
            usage.add(batch)
        }
        return usage
    }

    @Test("a single app gets its exact distance")
    func alone() {
        let usage = usage(5_000, recentEvents: 10) { _ in .default }
        for place in [0, 1, 1_022, 1_023, 1_024, 1_025, 4_095, 4_999, 5_000, 6_000] as [LogPosition] {
            #expect(usage.events(of: .default, after: place) == max(0, 5_000 - place))
        }
        #expect(usage.events(of: other, after: 0) == 0)
        #expect(usage.total(of: .default).events == 5_000)
        #expect(usage.stretches(of: .default) == [0...5_000])
        #expect(usage.searchParts(of: .default, before: 3_000, work: .max).parts == [0...2_999])
    }

    @Test("a reader passes over what other apps have, to the block of the next own event or to the end of the log")
    func gaps() {
        let usage = usage(20_000) { [1, 10_000].contains($0) ? other : .default }
        for (place, end, isFollowed) in [
            (0, 0, true), (1_023, 9_215, true), (9_215, 9_215, true), (10_000, 10_000, true), (10_239, 20_000, false),
            (20_000, 20_000, false),
        ] as [(LogPosition, LogPosition, Bool)] {
            let gap = usage.gap(of: other, after: place)
            #expect(gap.end == end && gap.isFollowed == isFollowed, "\(place)")
        }
        #expect(usage.gap(of: AppKey(rawValue: 3), after: 5).end == 20_000)
    }

    @Test("a reader does not pass over what was removed, also after a restart")
    func gapsOfRemovedEvents() {
        func expectGaps(_ usage: LogUsage) {
            for (place, end) in [(1_023, 5_119), (5_119, 5_119), (6_500, 6_500), (7_167, 9_215), (9_300, 9_300)]
                as [(LogPosition, LogPosition)]
            {
                let gap = usage.gap(of: other, after: place)
                #expect(gap.end == end && gap.isFollowed, "\(place)")
            }
        }
        let usage = usage(20_000) { [1, 10_000].contains($0) ? other : .default }
        usage.set(5, [AppBlock(app: .default, block: 5, events: 1_000, bytes: 8_000)])
        usage.set(6, [])
        expectGaps(usage)
        var recovery = Recovery()
        recovery.head = 20_000
        recovery.blocks = (0...19).flatMap { usage.parts(of: $0) }
        expectGaps(LogUsage(recovery, RecentEvents(head: 20_000, maxEvents: 10)))
        usage.trim(first: 7_000)
        #expect(usage.gap(of: other, after: 6_998) == (6_998, true))
        // Nothing is counted of block 6, in which the log begins, until it is counted again.
        #expect(usage.gap(of: other, after: 6_999) == (6_999, true))
        usage.set(6, [AppBlock(app: .default, block: 6, events: 168, bytes: 1_344)])
        #expect(usage.gap(of: other, after: 6_999) == (9_215, true))
    }

    @Test("the app that stores most is found, and after a removal the next one")
    func largest() {
        let usage = usage(3_000) { $0 < 2_048 ? other : .default }
        #expect(usage.largest?.app == other && usage.largest?.bytes == usage.total(of: other).bytes)
        #expect(usage.apps == 2)
        usage.trim(first: 2_500)
        #expect(usage.apps == 1)
        #expect(usage.largest?.app == .default && usage.largest?.bytes == usage.total.bytes)
        usage.set(2, [])
        #expect(usage.apps == 0 && usage.largest == nil && usage.total(of: .default) == (0, 0))
        #expect(self.usage(0) { _ in .default }.largest?.app == nil)
    }

    @Test("a search ends after some rows, with a position to continue at; with an index, an app reads only its own")
    func searches() {
        let usage = usage(20_000) { $0 % 1_000 == 0 ? other : .default }
        let first = usage.searchParts(of: .default, before: .max, work: 4_096)
        #expect(first.parts == [16_384...20_000])
        #expect(first.rest == 16_384)
        var (before, places) = (first.rest, 20_000 - 16_384 + 1)
        while let place = before {
            let next = usage.searchParts(of: .default, before: place, work: 4_096)
            #expect(next.parts.first?.upperBound == place - 1)
            places += next.parts.reduce(0) { $0 + $1.count }
            before = next.rest
        }
        #expect(places == 20_001)
        #expect(usage.searchParts(of: other, before: .max, work: 4_096).rest == nil)
        #expect(usage.searchParts(of: other, before: .max, work: 5).rest != nil)
        #expect(usage.searchParts(of: AppKey(rawValue: 3), before: .max, work: 5).parts.isEmpty)
    }

    @Test(
        "an app among others gets an exact distance in recent blocks, else at most one block too many, independent of other apps"
    )
    func mixed() {
        func owner(_ number: Int) -> AppKey { number % 3 == 0 ? other : .default }
        let exact = usage(5_000, owner)
        for place in stride(from: 0, through: 5_000, by: 37) {
            let expected = (place + 1..<5_001).count { owner($0) == other }
            #expect(exact.events(of: other, after: LogPosition(place)) == expected)
        }
        let far = usage(5_000, recentEvents: 10, owner)
        for place in stride(from: 0, through: 5_000, by: 37) {
            let expected = Int64((place + 1..<5_001).count { owner($0) == other })
            #expect((expected...expected + 1_023).contains(far.events(of: other, after: LogPosition(place))))
        }
        let before = (far.total(of: other), far.events(of: other, after: 100), far.events(of: other, after: 4_990))
        far.add(EventBatch(first: 5_001, events: (5_001...9_000).map { event($0, .default) }))
        let after = (far.total(of: other), far.events(of: other, after: 100), far.events(of: other, after: 4_990))
        #expect(before.0 == after.0 && before.1 == after.1 && after.2 <= before.2 + 1_023)
    }

    @Test("blocks without its events are skipped")
    func stretches() {
        let usage = usage(10_000) { (2_000...2_100).contains($0) || $0 == 7_000 ? other : .default }
        #expect(usage.stretches(of: other) == [1_024...3_071, 6_144...7_167])
        let before = { (place: LogPosition) in usage.searchParts(of: other, before: place, work: .max).parts }
        #expect(before(6_145) == [6_144...6_144, 1_024...3_071])
        #expect(before(6_144) == [1_024...3_071])
    }

    @Test("the distance follows each change of the blocks")
    func sums() {
        let usage = usage(20_000, recentEvents: 10) { $0 % 3 == 0 ? other : .default }
        func expectSums() {
            for block in Int64(0)..<19 {
                let later = (block + 1..<30).flatMap { usage.parts(of: $0) }.filter { $0.app == other }
                let events = usage.events(of: other, after: AppBlock.places(block).upperBound)
                #expect(events == later.reduce(0) { $0 + $1.events }, "\(block)")
            }
        }
        expectSums()
        usage.set(7, [AppBlock(app: other, block: 7, events: 3, bytes: 24)])
        expectSums()
        usage.set(9, [])
        expectSums()
        usage.set(9, [AppBlock(app: other, block: 9, events: 5, bytes: 40)])
        usage.add(EventBatch(first: 20_001, events: (20_001...23_000).map { event($0, other) }))
        expectSums()
        usage.trim(first: 5_000)
        usage.add(EventBatch(first: 23_001, events: (23_001...26_000).map { event($0, other) }))
        expectSums()
    }

    @Test("removed events are subtracted")
    func trimming() {
        let usage = usage(3_000) { $0 % 2 == 0 ? other : .default }
        usage.trim(first: 1_201)
        usage.set(
            1,
            [
                AppBlock(app: .default, block: 1, events: 424, bytes: 424 * 8),
                AppBlock(app: other, block: 1, events: 423, bytes: 423 * 8),
            ])
        #expect(usage.total(of: other).events == 900)
        usage.trim(first: 3_000)
        usage.set(2, [AppBlock(app: other, block: 2, events: 1, bytes: 8)])
        #expect(usage.total(of: other) == (1, 8) && usage.total(of: .default) == (0, 0))
    }
}

@Suite("Requests and events per second")
struct RateMeterTests {
    @Test("a second's worth at once, then evenly; waiting times are whole seconds")
    func rate() {
        let meter = RateMeter()
        let second: Int64 = 1_000_000_000
        var now = 50 * second
        for _ in 0..<10 { #expect(meter.refusal(limit: 10, now: now) == nil) }
        #expect(meter.refusal(limit: 10, now: now) == 1)
        now += second / 10
        #expect(meter.refusal(limit: 10, now: now) == nil)
        #expect(meter.refusal(limit: 10, now: now) == 1)
        now += 100 * second
        let taken = (0..<50).count { _ in meter.refusal(limit: 10, now: now) == nil }
        #expect(taken == 10, "what was not used for long is not saved")
    }

    @Test("what is larger than the rest is accepted while anything is left, and uses up the next seconds")
    func larger() {
        let meter = RateMeter()
        let second: Int64 = 1_000_000_000
        #expect(meter.refusal(9, limit: 10, now: 0) == nil)
        #expect(meter.refusal(26, limit: 10, now: 0) == nil)
        #expect(meter.refusal(1, limit: 10, now: 0) == 3)
        #expect(meter.refusal(1, limit: 10, now: 5 * second / 2) == 1)
        #expect(meter.refusal(1, limit: 10, now: 26 * second / 10) == nil)
        meter.use(20, limit: 10, now: 5 * second)
        #expect(meter.refusal(limit: 10, now: 5 * second) == 2)
        #expect(meter.refusal(.max, limit: 1, now: 9 * second) == nil)
        #expect(meter.refusal(limit: 1, now: 9 * second) ?? 0 > 1_000_000_000)
    }

    @Test("a lowered limit delays no longer than necessary")
    func lowered() {
        let meter = RateMeter()
        for _ in 0..<1_000 { _ = meter.refusal(limit: 1_000, now: 0) }
        #expect(meter.refusal(limit: 1, now: 0) == 1)
        #expect(meter.refusal(limit: 1, now: 1_000_000_000) == nil)
    }
}
