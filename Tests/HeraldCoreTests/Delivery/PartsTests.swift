import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Components of the delivery")
struct PartsTests {
    // MARK: Router

    @Test("a lane is returned once, however many of its patterns match")
    func routerNamesOnce() {
        var router = Router()
        router.insert(1, [.exact("a.b.c"), .prefix("a."), .prefix("a.b."), .exact("a.b.c")])
        router.insert(2, [.any, .exact("a.b.c")])
        router.insert(3, [.prefix("a.b.")])
        let lanes = router.lanes(for: "a.b.c")
        #expect(lanes.any == [2])
        #expect(lanes.named == [1, 3])
    }

    @Test("a prefix matches every level below it, and not itself")
    func routerPrefixes() {
        var router = Router()
        router.insert(1, [.prefix("a.")])
        #expect(router.lanes(for: "a.b").named == [1])
        #expect(router.lanes(for: "a.b.c.d").named == [1])
        #expect(router.lanes(for: "a").named == [])
        #expect(router.lanes(for: "ab.c").named == [])
    }

    @Test("a removed lane is not returned any more, even for cached types")
    func routerRemoves() {
        var router = Router()
        let patterns: [EventPattern] = [.exact("a.b"), .prefix("a.")]
        router.insert(1, patterns)
        router.insert(2, [.any])
        #expect(router.lanes(for: "a.b").named == [1])
        router.remove(1, patterns)
        router.remove(2, [.any])
        let lanes = router.lanes(for: "a.b")
        #expect(lanes.named.isEmpty && lanes.any.isEmpty)
    }

    @Test("the memory of the router is bounded, whatever types are published")
    func routerForgets() {
        var router = Router()
        router.insert(1, [.exact("a.b")])
        for number in 0..<10_000 {
            let lanes = router.lanes(for: "a.\(number)." + String(repeating: "c", count: 100))
            #expect(lanes.named.isEmpty)
            #expect(router.resolvedWords >= 28 && router.resolvedWords <= Router.maxResolvedWords)
        }
        #expect(router.resolvedWords < 28 * 10_000)
        #expect(router.lanes(for: "a.b").named == [1])
    }

    @Test("the router agrees with the patterns")
    func routerAgrees() {
        var random = SeededRandom(seed: 7)
        let types = ["a", "a.b", "a.b.c", "b", "b.a", "ab.c", "herald.delegate.gone", "herald.delivery.dropped"]
        let patterns = ["*", "a.*", "a.b.*", "a", "a.b", "b.*", "b.a", "ab.*", "herald.*", "herald.delegate.gone"]
            .map { EventPattern($0)! }
        var router = Router()
        var lanes: [Int: [EventPattern]] = [:]
        for step in 0..<500 {
            let lane = random.number(0...20)
            if let old = lanes.removeValue(forKey: lane) { router.remove(lane, old) }
            if step % 3 != 0 {
                let chosen = (0..<random.number(1...3)).map { _ in patterns[random.number(0...9)] }
                lanes[lane] = chosen
                router.insert(lane, chosen)
            }
            let type = types[random.number(0...7)]
            let found = router.lanes(for: type)
            let expected = lanes.filter { $0.value.contains { $0.matches(type) } }.keys.sorted()
            #expect((found.any + found.named).sorted() == expected)
        }
    }

    // MARK: Timers and turns

    @Test("timers fire in the order of their due times, and only when due")
    func timers() {
        var random = SeededRandom(seed: 3)
        var timers = TimerQueue<Int>()
        let times = (0..<1_000).map { _ in random.number(0...500) }
        for time in times { timers.insert(time, due: Int64(time)) }
        #expect(timers.popDue(now: -1) == nil)
        timers.removeAll { $0 % 7 == 0 }
        var popped: [Int] = []
        while let next = timers.nextDue {
            #expect(timers.popDue(now: next - 1) == nil)
            popped.append(timers.popDue(now: next)!)
        }
        #expect(popped == times.filter { $0 % 7 != 0 }.sorted())
    }

    @Test("lanes that are removed and return leave no entries behind, and keep their order")
    func removedLanes() {
        var line = RoundRobin()
        for lane in 1...3 { line.append(lane) }
        for _ in 0..<10_000 {
            line.append(4)
            line.remove(4)
        }
        #expect(line.entries <= 2 * 3 + 17)
        line.append(4)
        #expect((1...4).allSatisfy { line.next() == $0 })
        #expect(line.next() == nil && line.entries == 0)
    }

    @Test("each waiting lane gets its turn once")
    func roundRobin() {
        var line = RoundRobin()
        for lane in [1, 2, 1, 3] { line.append(lane) }
        #expect(line.count == 3)
        line.remove(2)
        #expect(line.next() == 1)
        line.append(1)
        #expect(line.next() == 3)
        #expect(line.next() == 1)
        #expect(line.next() == nil)
        for lane in 0..<1_000 { line.append(lane) }
        #expect((0..<1_000).allSatisfy { line.next() == $0 })
        #expect(line.next() == nil && line.count == 0)
    }

    // MARK: Pages

    private func page(after: LogPosition, _ count: Int = 10) -> EventBatch {
        EventBatch(first: after + 1, events: (0..<count).map { Event("a", id: "\(after + 1 + LogPosition($0))") })
    }

    @Test("a page is requested once, and all waiting lanes are notified in order")
    func pages() {
        var cache = PageCache()
        #expect(cache.want(11, for: 1, of: .default) == 10)
        #expect(cache.want(11, for: 2, of: .default) == nil)
        #expect(cache.want(11, for: 1, of: .default) == nil)
        let arrival = cache.arrived(after: 10, page(after: 10))
        #expect(arrival.delegates == [1, 2])
        #expect(arrival.readNext == nil)
        #expect(cache.event(11)?.id == "11" && cache.event(20)?.id == "20")
        #expect(cache.event(10) == nil && cache.event(21) == nil)
    }

    @Test("the number of concurrent reads and of kept pages is bounded; the oldest page is dropped first")
    func pageBounds() {
        var cache = PageCache()
        var asked: [LogPosition] = []
        for number: LogPosition in 0..<40 {
            if let after = cache.want(number * 10 + 1, for: number, of: .default) { asked.append(after) }
        }
        #expect(asked.count == PageCache.maxReads)
        while !asked.isEmpty {
            let after = asked.removeFirst()
            let arrival = cache.arrived(after: after, page(after: after))
            #expect(arrival.delegates == [after / 10])
            if let next = arrival.readNext { asked.append(next) }
        }
        #expect((0..<40).filter { cache.event($0 * 10 + 1) != nil } == Array(8..<40))
    }

    @Test("apps take turns when pages are read, however many positions the lanes of one need")
    func pagesOfApps() {
        var cache = PageCache()
        var reading: [LogPosition] = []
        for number: LogPosition in 0..<40 {
            if let after = cache.want(number * 10 + 1, for: number, of: .default) { reading.append(after) }
        }
        #expect(cache.want(1_001, for: 100, of: AppKey(rawValue: 2)) == nil)
        #expect(cache.want(2_001, for: 200, of: nil) == nil)
        let next = reading.prefix(3).map { cache.arrived(after: $0, page(after: $0)).readNext }
        #expect(next == [40, 1_000, 2_000])
    }
}
