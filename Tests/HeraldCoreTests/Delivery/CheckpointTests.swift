import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Checkpoints")
struct CheckpointTests {
    @Test("a lane has a row while a delivery of it is open, and none afterwards")
    func rows() throws {
        let bench = try EngineBench(WebhookDelegate(1), WebhookDelegate(2) { $0.events = [.exact("never")] })
        // Their rows from the registration go with the first checkpoint.
        #expect(bench.checkpoint()?.caughtUp.sorted() == [1, 2])
        bench.publishAndTurn(3)
        bench.finish(event: 2)
        var checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.settled == 3)
        #expect(checkpoint.lanes == [LanePosition(delegate: 1, cursor: 0, position: 3)])
        #expect(checkpoint.attempts.map(\.event) == [2])
        #expect(checkpoint.caughtUp.isEmpty)
        bench.finish(event: 1)
        checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.lanes == [LanePosition(delegate: 1, cursor: 2, position: 3)])
        bench.finish(event: 3)
        checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.lanes.isEmpty)
        #expect(checkpoint.caughtUp == [1])
        #expect(bench.checkpoint() == nil)
    }

    @Test("what was collected of removed lanes is left out, of all of them at once")
    func removedLanes() {
        var builder = CheckpointBuilder(settled: 0)
        for key: DelegateKey in 1...3 {
            builder.set(WaitingDelivery(delegate: key, event: 1, attempts: 1, dueAt: 0, state: .retrying), now: 0)
            builder.end(DeliveryKey(delegate: key, event: 2), now: 0)
            builder.change(now: 0) { $0.unannounced[key] = 1 }
        }
        builder.forget([1, 2])
        let checkpoint = builder.take(settled: 0, lanes: [], now: 0)
        #expect(checkpoint.waiting.map(\.delegate) == [3] && checkpoint.ended.map(\.delegate) == [3])
        #expect(checkpoint.unannounced == [3: 1])
    }

    @Test("a failed delivery gets a row, which goes when it is delivered")
    func waiting() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.retrySchedule = [10] }, publishing: 1)
        let failedAt = bench.clock.wall
        bench.finish(with: .failure)
        var checkpoint = try #require(bench.checkpoint())
        #expect(
            checkpoint.waiting == [
                WaitingDelivery(delegate: 1, event: 1, attempts: 1, dueAt: failedAt + 10_000, state: .retrying)
            ])
        #expect(checkpoint.lanes.isEmpty)
        bench.advance(seconds: 10)
        bench.finish()
        checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.waiting.isEmpty)
        #expect(checkpoint.ended == [DeliveryKey(delegate: 1, event: 1)])
        #expect(checkpoint.attempts.map(\.number) == [2])
    }

    @Test("an exhausted delivery keeps a row")
    func exhausted() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.retrySchedule = [] }, publishing: 1)
        bench.finish(with: .failure)
        let checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.waiting.map(\.state) == [.exhausted])
    }

    @Test("a refused checkpoint is sent again, before newer changes, and loses nothing")
    func refused() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
        bench.finish()
        let refused = try #require(bench.checkpoint(succeeds: false))
        bench.publishAndTurn()
        bench.finish()
        #expect(bench.checkpoint() == nil)
        bench.clock.advance(seconds: 1)
        let again = try #require(bench.checkpoint())
        #expect(again.attempts == refused.attempts)
        #expect(again.settled == 1)
        let next = try #require(bench.checkpoint())
        #expect(next.attempts.map(\.event) == [2])
        #expect(next.settled == 2)
        #expect(bench.checkpoint() == nil)
    }

    @Test("only one checkpoint is in flight at a time")
    func oneAtATime() throws {
        let bench = try EngineBench(WebhookDelegate(1))
        for _ in 0..<3 {
            bench.publishAndTurn()
            bench.finish()
            bench.advance(seconds: 1)
        }
        #expect(bench.submitted.count == 1)
        bench.engine.receive(.checkpointEnded(true))
        #expect(bench.checkpoint()?.attempts.map(\.event) == [2, 3])
    }

    @Test("events without recipients advance the common position")
    func settled() throws {
        let bench = try EngineBench(publishing: 7)
        #expect(bench.checkpoint()?.settled == 7)
        #expect(bench.checkpoint() == nil)
    }

    @Test("after a restart only undecided deliveries are sent, and a second restart has the same result")
    func restart() throws {
        let bench = try EngineBench(settled: 10, backlog: 10)
        bench.set(
            WebhookDelegate(1) { $0.maxInFlight = 1 },
            restored: .init(position: LanePosition(delegate: 1, cursor: 4, position: 8), decided: [6, 7, 8]))
        bench.turn()
        bench.answerReads()
        bench.turn()
        #expect(bench.open(1) == [5])
        #expect(bench.checkpoint()?.lanes == [LanePosition(delegate: 1, cursor: 4, position: 8)])
        bench.finishAndTurn()
        #expect(bench.open(1) == [9])
    }

    @Test("a lane ahead of the common position is not offered events that it has processed")
    func ahead() throws {
        let bench = try EngineBench(settled: 4, backlog: 10)
        bench.set(
            WebhookDelegate(1),
            restored: .init(position: LanePosition(delegate: 1, cursor: 7, position: 9), decided: [9]))
        bench.turn()
        bench.answerReads()
        bench.turn()
        #expect(bench.open(1) == [8, 10])
    }

    @Test("positions may be written less often than outcomes, and what must not wait takes them along")
    func positions() {
        func milliseconds(_ count: Int64) -> Int64 { count * 1_000_000 }
        var builder = CheckpointBuilder(settled: 0, positionInterval: milliseconds(1_000))
        builder.touch(now: 0)
        builder.end(DeliveryKey(delegate: 1, event: 1), now: 0)
        #expect(builder.takeOutcomes(now: milliseconds(100))?.ended == nil)
        #expect(builder.take(settled: 1, lanes: [(1, .at(1, 1))], now: milliseconds(100)).lanes.count == 1)
        _ = builder.ended(succeeded: true, now: milliseconds(110))
        builder.touch(now: milliseconds(150))
        #expect(builder.due == milliseconds(1_100))
        builder.end(DeliveryKey(delegate: 1, event: 2), now: milliseconds(200))
        #expect(builder.due == milliseconds(300))
        let outcomes = builder.takeOutcomes(now: milliseconds(300))
        #expect(outcomes?.ended.count == 1 && outcomes?.settled == nil && outcomes?.lanes.isEmpty == true)
        _ = builder.ended(succeeded: true, now: milliseconds(310))
        #expect(builder.due == milliseconds(1_100))
        builder.endReplay(1, of: 1, now: milliseconds(400))
        #expect(builder.due == milliseconds(500) && builder.takeOutcomes(now: milliseconds(500))?.ended == nil)
        #expect(builder.take(settled: 2, lanes: [], now: milliseconds(500)).endedReplays.count == 1)
    }

    @Test("a part has the rows of its attempts, and none is made while a notice waits")
    func part() throws {
        var builder = CheckpointBuilder(settled: 0)
        func add(_ events: ClosedRange<LogPosition>) {
            for event in events { builder.add(attempt(1, event, startedAt: 0), now: 0) }
        }
        builder.routed(to: 900, now: 0)
        add(1...300)
        for event in [5, 299] as [LogPosition] {
            builder.set(
                WaitingDelivery(delegate: 1, event: event, attempts: 1, dueAt: 0, state: .exhausted), now: 0)
        }
        builder.end(DeliveryKey(delegate: 1, event: 7), now: 0)
        // Its last attempt is in a later part.
        add(9...9)
        builder.end(DeliveryKey(delegate: 1, event: 9), now: 0)
        let taken = builder.takePart()
        let part = try #require(taken)
        #expect(part.attempts.count == CheckpointBuilder.partSize && part.settled == nil)
        #expect(part.waiting.map(\.event) == [5] && part.ended.map(\.event) == [7])
        #expect(!builder.isPending(DeliveryKey(delegate: 1, event: 5)))
        #expect(builder.isPending(DeliveryKey(delegate: 1, event: 299)))
        #expect(builder.isPending(DeliveryKey(delegate: 1, event: 9)))
        _ = builder.ended(succeeded: true, now: 0)
        add(301...900)
        builder.change(now: 0) { $0.notices.append(DeliveryNotice(1, .recovered)) }
        let none = builder.takePart()
        #expect(none?.attempts == nil)
    }

    @Test("what another process has now is not written, the attempts are")
    func lostShards() {
        var checkpoint = Checkpoint()
        checkpoint.attempts = [1, 2].map { attempt($0, 1, startedAt: 0) }
        checkpoint.statistics = [1, 2].map { DeliveryStatistics(delegate: $0, start: 0) }
        checkpoint.caughtUp = [1, 2]
        let rest = checkpoint.without(Shards(of: 2))
        #expect(rest.attempts.map(\.delegate) == [1, 2])
        #expect(rest.statistics.map(\.delegate) == [1])
        #expect(rest.caughtUp == [1])
    }

    @Test("while the writer has too many attempts queued, no attempt is started")
    func full() {
        var builder = CheckpointBuilder(settled: 0)
        for event: LogPosition in 1...50_000 { builder.add(attempt(1, event, startedAt: 0), now: 0) }
        #expect(builder.isFull)
        #expect(builder.take(settled: 0, lanes: [], now: 0).attempts.count == 50_000)
        #expect(!builder.isFull)
    }
}
