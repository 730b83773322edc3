import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Statistics")
struct StatisticsTests {
    private func deliver(_ bench: EngineBench, with outcome: CallbackOutcome = .success) {
        bench.publishAndTurn()
        bench.finish(with: outcome)
    }

    @Test("attempts are counted by slot, and written once, a minute later in one checkpoint")
    func written() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.retrySchedule = [] })
        deliver(bench)
        deliver(bench, with: .failure)
        #expect(bench.checkpoint()?.statistics.isEmpty == true)
        #expect(bench.engine.board.statistics(1).map(\.delivered) == [1])
        // Nothing else happens: it is written all the same.
        bench.clock.advance(seconds: 60)
        #expect(bench.turn() != nil)
        let checkpoint = try #require(bench.checkpoint())
        let slot = try #require(checkpoint.statistics.first)
        #expect(slot.delivered == 1 && slot.failed == 1 && slot.latencies.count == 1)
        #expect(slot.start % DeliveryStatistics.slot == 0)
        #expect(bench.engine.board.statistics(1).isEmpty)
        bench.advance(seconds: 600)
        #expect(bench.submitted.isEmpty)
    }

    @Test("a completed slot is a row of its own")
    func slots() throws {
        let bench = try EngineBench(WebhookDelegate(1))
        // Ten seconds before the end of a slot.
        let slot = DeliveryStatistics.slot
        bench.clock.advance(nanoseconds: (slot - bench.clock.wall % slot - 10_000) * 1_000_000)
        deliver(bench)
        bench.clock.advance(seconds: 20)
        deliver(bench)
        _ = bench.checkpoint()
        bench.advance(seconds: 60)
        let slots = try #require(bench.checkpoint()).statistics
        #expect(slots.map(\.delivered) == [1, 1])
        #expect(Set(slots.map(\.start)).count == 2)
    }

    @Test("slots of a time to come, which a wrong clock has made, count for no hour")
    func future() {
        let slot = DeliveryStatistics.slot
        let starts: [Int64] = [slot, 2 * slot, 3 * slot]
        let slots = starts.map { DeliveryStatistics(delegate: 1, start: $0, delivered: 1) }
        #expect(DelegateStatistics.sum(slots, WebhookDelegate(1), in: slot...2 * slot).delivered == 2)
    }

    @Test("those of many delegates leave in parts, each of them once, without what is counted since")
    func parts() {
        let board = LaneSnapshots()
        for time in [0, DeliveryStatistics.slot] {
            for key: DelegateKey in 1...150 { board.count(key, succeeded: true, duration: 1, at: time) }
        }
        var taken: [DeliveryStatistics] = []
        for isFollowed in [true, true, false] {
            taken += board.takeStatistics(limit: 100)
            board.count(200, succeeded: true, duration: 1, at: DeliveryStatistics.slot)
            let areLeft = board.statisticsWritten()
            #expect(areLeft == isFollowed)
        }
        #expect(taken.count == 300 && Set(taken.map(\.delegate)).count == 150)
        board.count(7, succeeded: true, duration: 1, at: DeliveryStatistics.slot)
        let first = board.takeStatistics(limit: 1)
        let rest = board.takeStatistics(limit: nil)
        #expect((first + rest).map(\.delivered).sorted() == [1, 3])
        #expect(board.statistics(7).map(\.delivered) == [1], "until they are written")
    }

    @Test("a failed checkpoint keeps them, they stay visible, and they are not written twice")
    func refused() throws {
        let bench = try EngineBench(WebhookDelegate(1))
        deliver(bench)
        bench.advance(seconds: 60)
        let refused = try #require(bench.checkpoint(succeeds: false))
        #expect(refused.statistics.map(\.delivered) == [1])
        deliver(bench)
        #expect(bench.engine.board.statistics(1).map(\.delivered).reduce(0, +) == 2)
        bench.clock.advance(seconds: 1)
        let again = try #require(bench.checkpoint())
        #expect(again.statistics == refused.statistics)
        #expect(bench.engine.board.statistics(1).map(\.delivered) == [1])
        bench.advance(seconds: 60)
        #expect(bench.checkpoint()?.statistics.map(\.delivered) == [1])
        #expect(bench.engine.board.statistics(1).isEmpty)
    }

    @Test("attempts counted while a checkpoint is in flight stay visible until their own is written")
    func crossing() throws {
        let bench = try EngineBench(WebhookDelegate(1))
        deliver(bench)
        bench.advance(seconds: 1)
        #expect(bench.submitted.count == 1)
        bench.advance(seconds: 60)
        bench.engine.receive(.checkpointEnded(true))
        #expect(bench.engine.board.statistics(1).map(\.delivered) == [1])
        bench.submitted = []
        #expect(bench.checkpoint()?.statistics.map(\.delivered) == [1])
        #expect(bench.engine.board.statistics(1).isEmpty)
    }

    @Test("a clean stop writes what was counted since")
    func stop() throws {
        let bench = try EngineBench(WebhookDelegate(1))
        deliver(bench)
        _ = bench.checkpoint()
        bench.engine.receive(.stop(deadline: 0))
        #expect(!bench.engine.flush())
        #expect(bench.submitted.first?.statistics.map(\.delivered) == [1])
        bench.engine.receive(.checkpointEnded(true))
        #expect(bench.engine.flush())
    }
}
