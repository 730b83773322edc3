import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The room for attempts")
struct AttemptRoomTests {
    private func bytes(_ world: World) -> Int { world.contents.attempts.reduce(0) { $0 + $1.record.storedBytes } }

    private func removed(_ world: World) -> Int {
        world.contents.removals.first { $0.part == .attempts && $0.cause == .size }?.count ?? 0
    }

    private func deliver(_ count: Int, _ world: World, excerpt: Int = 0) {
        let outcome = CallbackOutcome(
            verdict: .answered(status: 200, retryAfter: nil), duration: 0, excerpt: Array(repeating: 7, count: excerpt))
        world.answer = { _ in outcome }
        world.publishAndSettle(count)
    }

    @Test("a full budget is kept by the transactions that record, without another measurement")
    func kept() throws {
        let world = try World()
        world.register()
        deliver(10, world)
        let room = world.process.writer.attempts
        room.measured(5_000, before: room.recorded)
        let budget = bytes(world) + 5_000
        for _ in 0..<20 {
            deliver(20, world)
            #expect(bytes(world) <= budget)
        }
        #expect(bytes(world) > budget - 200)
        #expect(world.contents.attempts.count + removed(world) == 410)
        #expect(world.contents.attempts.last?.record.event == 410)
    }

    @Test("it is kept by bytes when attempts become larger, and smaller", arguments: [[0, 1_024], [1_024, 0]])
    func sizes(_ excerpts: [Int]) throws {
        let world = try World()
        world.register()
        let room = world.process.writer.attempts
        room.measured(100_000, before: 0)
        for excerpt in excerpts {
            for _ in 0..<40 {
                deliver(50, world, excerpt: excerpt)
                #expect(bytes(world) <= 100_000)
            }
            #expect(bytes(world) > 97_000)
        }
    }

    @Test("nothing is removed within the budget, nor without one")
    func within() throws {
        let world = try World()
        world.register()
        deliver(50, world)
        let room = world.process.writer.attempts
        #expect(room.recorded == Int64(bytes(world)))
        room.measured(50 * 64, before: room.recorded)
        deliver(50, world)
        #expect(removed(world) == 0)
        deliver(1, world)
        #expect(removed(world) == 1)
    }

    @Test("the planner measures the room, which is never negative")
    func measured() throws {
        let store = MemoryStore()
        var retention = Retention()
        retention.attemptBytes = 10_000
        func room() throws -> Int64? {
            var planner = RetentionPlanner(retention)
            return try planner.next(
                .init(reader: store.makeReader(), selection: { _ in nil }, stored: (0, 0), now: 0, end: { -$0 }), old: 0
            ).attemptRoom
        }
        #expect(try room() == 9_700)
        try store.transaction { (transaction) throws(StoreError) in
            var checkpoint = Checkpoint()
            checkpoint.attempts = (1...100).map { attempt(1, $0, startedAt: 0) }
            try transaction.write(checkpoint)
        }
        #expect(try room() == 0)
        retention.attemptBytes = nil
        #expect(try room() == nil)
    }
}
