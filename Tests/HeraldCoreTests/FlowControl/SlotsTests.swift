import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Slots")
struct SlotsTests {
    private let age = Slots.youngAge

    @Test("a start is recent until it ends, or the loop has slept for two milliseconds since")
    func young() {
        var slots = Slots(capacity: 8)
        slots.start(0, isProven: true, now: 0, slept: 0)
        slots.start(1, isProven: true, now: 0, slept: 200_000)
        #expect(slots.young == 2)
        #expect(slots.nextGrown == age)
        var wasHeld = slots.end(0).isHeld
        #expect(!wasHeld)
        #expect(slots.young == 1)
        slots.age(now: 0, slept: 200_000 + age - 1) { _, _ in }
        #expect(slots.young == 1)
        #expect(slots.nextGrown == 200_000 + age)
        slots.age(now: 0, slept: 200_000 + age) { _, _ in }
        #expect(slots.young == 0)
        #expect(slots.nextGrown == nil)
        wasHeld = slots.end(1).isHeld
        #expect(!wasHeld)
        #expect(slots.young == 0 && slots.open == 0)
    }

    @Test("a request occupies its slot after a quarter of a second, and that of an unproven lane from its start")
    func held() {
        var slots = Slots(capacity: 8)
        var told: [Int] = []
        slots.start(0, isProven: true, now: 0, slept: 0)
        slots.start(1, isProven: false, now: 10, slept: 0)
        slots.start(2, isProven: true, now: 20, slept: 0)
        #expect(slots.held == 1)
        slots.age(now: Slots.heldAge, slept: 0) { token, _ in told.append(token) }
        #expect(told == [0])
        #expect(slots.held == 2)
        slots.age(now: Slots.heldAge + 20, slept: 0) { token, _ in told.append(token) }
        #expect(told == [0, 2])
        #expect(slots.held == 3)
        let wereHeld = [1, 0, 2].map { slots.end($0).isHeld }
        #expect(wereHeld == [true, true, true])
        #expect(slots.held == 0)
    }

    @Test("with half of the slots occupied, only proven lanes without an occupied slot get one")
    func reserve() {
        var slots = Slots(capacity: 8)
        for token in 0..<3 { slots.start(token, isProven: false, now: 0, slept: 0) }
        #expect(slots.roomForAny == 1)
        slots.start(3, isProven: false, now: 0, slept: 0)
        #expect(slots.roomForAny == 0)
        _ = slots.end(3)
        #expect(slots.roomForAny == 1)
    }

    @Test("the counts are correct for any order of starts and ends")
    func counts() {
        var random = SystemRandomNumberGenerator()
        var slots = Slots(capacity: 64)
        var open: [Int: (isProven: Bool, now: Int64)] = [:]
        var late: Set<Int> = []
        var now: Int64 = 0
        for _ in 0..<20_000 {
            now += Int64.random(in: 0...20_000_000, using: &random)
            slots.age(now: now, slept: now) { token, age in if age == .late { late.insert(token) } }
            let token = Int.random(in: 0..<64, using: &random)
            if let was = open.removeValue(forKey: token) {
                let ended = slots.end(token)
                #expect(ended.isHeld == (!was.isProven || now - was.now >= Slots.heldAge))
                #expect(ended.isLate == (now - was.now >= Slots.lateAge))
                late.remove(token)
            } else {
                let isProven = Bool.random(using: &random)
                open[token] = (isProven, now)
                slots.start(token, isProven: isProven, now: now, slept: now)
            }
            #expect(slots.open == open.count)
            #expect(slots.held == open.values.count { !$0.isProven || now - $0.now >= Slots.heldAge })
            #expect(slots.young == open.values.count { now - $0.now < Slots.youngAge })
            #expect(late == Set(open.filter { now - $0.value.now >= Slots.lateAge }.keys))
        }
    }

    @Test("only as many start at once as keep the loop busy; the rest follow as others end or age")
    func engine() throws {
        let bench = try EngineBench()
        for key: DelegateKey in 1...4 { bench.set(WebhookDelegate(key) { $0.maxInFlight = 256 }) }
        // Each success doubles what a lane may have open.
        for _ in 1...10 {
            bench.publish(64)
            bench.deliverAll()
        }
        bench.publishAndTurn(100)
        #expect(bench.open.count == Slots.maxYoung)
        bench.clock.advance(nanoseconds: Slots.youngAge)
        bench.turn()
        #expect(bench.open.count == 2 * Slots.maxYoung)
        bench.deliverAll()
        #expect(bench.engine.open == 0)
    }
}
