import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("The board of a delivery loop")
struct BoardTests {
    @Test("an event that waits is shown as soon as the board shows that the loop has read it")
    func behind() throws {
        let bench = try EngineBench(WebhookDelegate(1, status: .paused), publishing: 1)
        #expect(bench.engine.board.position(1) == 1)
        #expect(bench.engine.board.entry(1)?.cursor == 0)
        #expect(bench.engine.board.entry(1)?.next == 1)
        _ = bench.checkpoint()
        #expect(bench.engine.board.entry(1)?.cursor == 0)
    }

    @Test("also if the lane was caught up when the checkpoint was made that ends after it")
    func crossing() throws {
        let bench = try EngineBench(WebhookDelegate(1))
        bench.publish()
        bench.deliverAll()
        bench.clock.advance(nanoseconds: CheckpointBuilder.interval)
        bench.turn()
        #expect(bench.submitted.count == 1)
        bench.set(WebhookDelegate(1, status: .paused))
        bench.publishAndTurn()
        #expect(bench.engine.board.entry(1)?.next == 2)
        bench.engine.receive(.checkpointEnded(true))
        #expect(bench.engine.board.entry(1)?.next == 2)
    }

    @Test("also if all that is shown of the lane is a retry")
    func retrying() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
        bench.finish(with: .failure)
        _ = bench.checkpoint()
        #expect(bench.engine.board.entry(1)?.cursor == nil)
        #expect(bench.engine.board.entry(1)?.retrying == 1)
        bench.set(WebhookDelegate(1, status: .paused))
        bench.publishAndTurn()
        #expect(bench.engine.board.entry(1)?.next == 2)
        #expect(bench.engine.board.entry(1)?.retrying == 1)
    }

    @Test("a lane that has caught up has no entry after the next checkpoint")
    func caughtUp() throws {
        let bench = try EngineBench(WebhookDelegate(1))
        for _ in 0..<3 {
            bench.publishAndTurn()
            #expect(bench.engine.board.entry(1)?.inFlight == 1)
            bench.finish()
            _ = bench.checkpoint()
            #expect(bench.engine.board.entry(1) == nil)
        }
    }
}
