import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Delivery engine")
struct EngineTests {
    @Test("a lane that keeps up starts an event in the turn that routes it")
    func fastPath() throws {
        let bench = try EngineBench(WebhookDelegate(1), WebhookDelegate(2) { $0.events = [.exact("b.x")] })
        bench.publishAndTurn()
        #expect(bench.open == [.init(1, 1)])
        #expect(bench.reads.isEmpty)
    }

    @Test("a delegate receives events published after its registration, even if the loop routed them first")
    func registrationBehindRouting() throws {
        let bench = try EngineBench(publishing: 5)
        bench.set(WebhookDelegate(1, start: 3))
        bench.turn()
        #expect(bench.open(1) == [4, 5])
    }

    @Test("a delegate does not receive events published before its registration")
    func registrationAheadOfRouting() throws {
        let bench = try EngineBench()
        bench.publish(5)
        bench.set(WebhookDelegate(1, start: 3))
        bench.turn()
        #expect(bench.open(1) == [4, 5])
    }

    @Test("a lane that is full falls behind and continues from the recent events")
    func fallsBehind() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.maxInFlight = 2 }, publishing: 10)
        #expect(bench.open(1) == [1, 2])
        bench.finishAndTurn(event: 1)
        #expect(bench.open(1) == [2, 3])
        bench.deliverAll()
        #expect(bench.delivered == 10)
        #expect(bench.reads.isEmpty)
    }

    @Test("a lane further behind reads pages, each once for all lanes that need it")
    func readsPages() throws {
        let bench = try EngineBench(settled: 1_000, backlog: 1_000)
        for key: DelegateKey in 1...3 {
            bench.set(
                WebhookDelegate(key) { $0.maxInFlight = 256 },
                restored: .init(position: LanePosition(delegate: key, cursor: 100, position: 100)))
        }
        bench.turn()
        #expect(bench.reads == [100])
        while !bench.reads.isEmpty || !bench.open.isEmpty {
            bench.answerReads()
            bench.deliverAll()
        }
        #expect(bench.delivered == 2_700)
    }

    @Test("a failed read is repeated after a pause")
    func pageFails() throws {
        let bench = try EngineBench(settled: 10, backlog: 10)
        bench.set(
            WebhookDelegate(1), restored: .init(position: LanePosition(delegate: 1, cursor: 8, position: 8)))
        bench.turn()
        #expect(bench.reads == [8])
        bench.reads = []
        bench.engine.receive(.page(after: 8, nil))
        bench.turn()
        #expect(bench.reads.isEmpty)
        bench.advance(seconds: 1)
        #expect(bench.reads == [8])
        bench.answerReads()
        bench.turn()
        #expect(bench.open(1) == [9, 10])
    }

    @Test("events that retention removed are skipped, newer ones are not")
    func missingEvents() throws {
        let bench = try EngineBench(settled: 10, backlog: 10)
        bench.set(
            WebhookDelegate(1), restored: .init(position: LanePosition(delegate: 1, cursor: 2, position: 2)))
        bench.turn()
        // The page is empty, and by the time it comes there are new events.
        bench.publishAndTurn(2)
        bench.engine.receive(.page(after: 2, EventBatch(first: 3, events: [])))
        bench.turn()
        #expect(bench.open(1) == [11, 12])
    }

    @Test("after a restart the loop routes events that are no longer recent, and continues at the end of the log")
    func routesFromTheStore() throws {
        let bench = try EngineBench(settled: 4, backlog: 10)
        bench.set(WebhookDelegate(1), restored: .init())
        bench.turn()
        #expect(bench.reads == [4])
        bench.answerReads(limit: 3)
        bench.turn()
        #expect(bench.open(1) == [5, 6, 7])
        bench.finish()
        bench.publishAndTurn()
        #expect(bench.reads == [7])
        bench.reads = []
        bench.engine.receive(.page(after: 7, EventBatch(first: 8, events: [])))
        bench.turn()
        #expect(bench.open(1) == [11])
    }

    @Test("lanes with one event start within one round beside a lane with a backlog of 100,000")
    func fairness() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.maxInFlight = 32 }, capacity: 64)
        for key: DelegateKey in 2...101 { bench.set(WebhookDelegate(key) { $0.events = [.exact("b.x")] }) }
        for _ in 0..<100 {
            bench.publishAndTurn(1_000)
        }
        for _ in 0..<10 {
            bench.finishAndTurn()
            bench.answerReads()
        }
        bench.publish(1, type: "b.x")
        var told: Set<DelegateKey> = []
        for _ in 0..<3 {
            bench.turn()
            told.formUnion(bench.open.map(\.delegate))
            bench.finish()
        }
        #expect(told.count == 101)
    }

    @Test("lanes that keep up leave slots for those that wait")
    func noPushingIn() throws {
        let bench = try EngineBench(capacity: 2)
        for key: DelegateKey in 1...3 {
            bench.set(WebhookDelegate(key) { $0.events = [.exact("t\(key)")] })
        }
        bench.publish(1, type: "t1")
        bench.publish(1, type: "t1")
        bench.publishAndTurn(1, type: "t2")
        #expect(bench.open.map(\.delegate) == [1, 1])
        // Lane 2 waits for room. What frees up is its, whatever comes for lane 3.
        bench.finish(event: 1)
        bench.publishAndTurn(1, type: "t3")
        #expect(bench.open == [.init(1, 2), .init(2, 3)])
    }

    @Test("no more requests are open than the sender accepts")
    func capacity() throws {
        let bench = try EngineBench(capacity: 5)
        for key: DelegateKey in 1...4 { bench.set(WebhookDelegate(key)) }
        bench.publishAndTurn(20)
        #expect(bench.open.count == 5)
        bench.finishAndTurn(event: bench.open[0].event)
        #expect(bench.open.count == 5)
        bench.deliverAll()
        #expect(bench.delivered == 80)
    }

    @Test("a failed delivery is retried by the schedule, then exhausted")
    func retries() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.retrySchedule = [10, 20] }, publishing: 1)
        bench.finish(with: .failure)
        #expect(bench.turn() != nil)
        #expect(bench.open.isEmpty)
        bench.advance(seconds: 9.9)
        #expect(bench.open.isEmpty)
        bench.advance(seconds: 0.1)
        #expect(bench.open == [.init(1, 1, 2)])
        bench.finish(with: .failure)
        bench.advance(seconds: 20)
        #expect(bench.open == [.init(1, 1, 3)])
        bench.finish(with: .failure)
        bench.advance(seconds: 1_000)
        #expect(bench.open.isEmpty)
        #expect(bench.givenUp == 1)
    }

    @Test("a failing lane is probed with one event at a time, and continues when a probe succeeds")
    func breaker() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.maxInFlight = 8 }, WebhookDelegate(2))
        fail(1, bench)
        bench.publishAndTurn(20)
        #expect(bench.open(1).isEmpty)
        #expect(!bench.open(2).isEmpty)
        var previous = bench.clock.now
        // Three quarters of each pause, with the bench's random numbers.
        for pause in [1.0, 2, 4, 8, 16, 32, 60, 60] {
            let due = previous + Int64(pause * 0.75e9)
            bench.clock.advance(to: due - 1)
            bench.turn()
            #expect(bench.open(1).isEmpty)
            bench.clock.advance(to: due)
            bench.turn()
            #expect(bench.open(1).count == 1)
            previous = due
            bench.finishAndTurn(1, with: .failure)
        }
        bench.advance(seconds: 60)
        bench.finishAndTurn(1)
        // What has gathered doesn't come all at once.
        #expect(bench.open(1).count == 1)
        for _ in 0..<100 {
            bench.clock.advance(seconds: 0.1)
            bench.deliverAll()
        }
        #expect(bench.delivered == 50)
    }

    /// Five events fail, until nothing but probes is sent; other delegates take them.
    private func fail(_ key: DelegateKey, _ bench: EngineBench) {
        for event in 1...5 {
            bench.clock.advance(seconds: 0.5)
            bench.publishAndTurn()
            bench.finish(key, event: LogPosition(event), with: .failure)
            bench.finish()
        }
    }

    @Test("a probe uses up no attempt, even for an event without retries")
    func probesAreFree() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.retrySchedule = [] })
        fail(1, bench)
        #expect(bench.givenUp == 5)
        _ = bench.checkpoint()
        bench.publish()
        for number in 1...20 {
            bench.advance(seconds: 300)
            #expect(bench.open == [.init(1, 6, number)])
            bench.finish(with: .failure)
        }
        #expect(bench.givenUp == 5)
        bench.engine.receive(.checkpointEnded(true))
        let row = try #require(bench.checkpoint()?.waiting.first { $0.event == 6 })
        #expect(row.state == .retrying && row.attempts == 20 && row.uncounted == 20)
    }

    @Test("each request has a number of its own, also those that use up no retry, before and after a restart")
    func numbers() throws {
        let webhook = WebhookDelegate(1) { $0.retrySchedule = [10] }
        let bench = try EngineBench(webhook, publishing: 1)
        var rows: [WaitingDelivery] = []
        for number in 1...3 {
            #expect(bench.open == [.init(1, 1, number)])
            bench.finish(with: .answered(503, retryAfter: 30))
            let checkpoint = try #require(bench.checkpoint())
            #expect(checkpoint.attempts.map(\.number) == [number])
            rows = checkpoint.waiting
            bench.advance(seconds: 31)
        }
        let row = try #require(rows.first)
        #expect(row.attempts == 3 && row.uncounted == 3)

        let again = try EngineBench(settled: 1, backlog: 1)
        again.set(
            webhook,
            restored: .init(position: LanePosition(delegate: 1, cursor: 1, position: 1), waiting: rows))
        again.advance(seconds: 200)
        again.answerReads()
        again.turn()
        // Neither of these two was made before: the schedule has one step.
        for number in 4...5 {
            #expect(again.open == [.init(1, 1, number)])
            again.finish(with: .failure)
            again.advance(seconds: 10)
        }
        #expect(again.open.isEmpty)
        #expect(again.givenUp == 1)
    }

    @Test("what can't be made into a request ends the delivery at once, and says nothing about the receiver")
    func requestNotMade() throws {
        let bench = try EngineBench(WebhookDelegate(1))
        for number in 1...8 {
            bench.publishAndTurn()
            #expect(bench.open == [.init(1, LogPosition(number), 1)])
            bench.finish(with: .failed(.requestNotMade))
        }
        let lane = try #require(bench.engine.lane(1))
        #expect(!lane.flow.breaker.isOpen && !lane.flow.breaker.isSuspect)
        #expect(lane.flow.breaker.failures == 0)
        let checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.attempts.map(\.failure) == Array(repeating: .requestNotMade, count: 8))
        #expect(bench.givenUp == 8)
        bench.publishAndTurn()
        bench.finish()
        #expect(bench.checkpoint()?.attempts.map(\.failure) == [nil])
    }

    @Test("after a lost connection, the next attempt is made at once over a new one, and uses up no retry")
    func lostConnection() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.retrySchedule = [] }, publishing: 1)
        #expect(bench.sender.open.map(\.isFresh) == [false])
        var lost = CallbackOutcome.failed(.protocolError)
        lost.isStale = true
        bench.finishAndTurn(with: lost)
        #expect(bench.open == [.init(1, 1, 2)])
        #expect(bench.sender.open.map(\.isFresh) == [true])
        #expect(bench.engine.lane(1)?.flow.breaker.isProven == true)
        bench.finish()
        bench.publishAndTurn()
        #expect(bench.open == [.init(1, 2, 1)])
        #expect(bench.sender.open.map(\.isFresh) == [false])
        let checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.attempts.map(\.number) == [1, 2])
        #expect(bench.givenUp == 0)
    }

    @Test("one delivery that fails does not block later ones forever, even in strict order")
    func poisonInStrictOrder() throws {
        let bench = try EngineBench()
        bench.set(
            WebhookDelegate(1) {
                $0.ordering = .strict
                $0.retrySchedule = [1, 2, 3, 4, 50]
            })
        bench.publish(3)
        for _ in 0..<200 {
            bench.turn()
            bench.finish(event: 1, with: .failure)
            bench.finish()
            bench.clock.advance(seconds: 1)
        }
        #expect(bench.givenUp == 1)
        #expect(bench.delivered == 2)
    }

    @Test("an event that always fails does not prevent probes with others")
    func poison() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.retrySchedule = Array(repeating: 1, count: 20) })
        bench.publishAndTurn()
        // Alone, it stops the lane when there is no connection.
        for _ in 0..<5 {
            bench.finish(event: 1, with: .failed(.connect))
            bench.advance(seconds: 2)
        }
        bench.publish(5)
        for _ in 0..<60 {
            bench.advance(seconds: 300)
            bench.finish(event: 1, with: .failure)
            bench.finish()
        }
        #expect(bench.delivered == 5)
    }

    @Test("an outage needs few rows, however long it lasts")
    func outage() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 5_000)
        var rows: Set<LogPosition> = []
        // Five days of probes.
        for _ in 0..<1_440 {
            bench.finish(with: .failure)
            bench.advance(seconds: 300)
            bench.answerReads()
            bench.turn()
            for checkpoint in bench.submitted {
                rows.formUnion(checkpoint.waiting.map(\.event))
                bench.engine.receive(.checkpointEnded(true))
            }
            bench.submitted = []
        }
        // Probes take a new event and a retry in turn.
        #expect(rows.count < 1_440 / 2 + 64)
    }

    @Test("a paused delegate is not called, and later gets the events published during the pause")
    func pause() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
        bench.set(WebhookDelegate(1, status: .paused, version: 2))
        bench.publishAndTurn(3)
        #expect(bench.open(1) == [1])
        bench.finish()
        let checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.settled == 4)
        #expect(checkpoint.lanes == [LanePosition(delegate: 1, cursor: 1, position: 1)])
        bench.set(WebhookDelegate(1, version: 3))
        bench.turn()
        #expect(bench.open(1) == [2, 3, 4])
    }

    @Test("a change while requests are open applies to the next ones")
    func patch() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 3)
        #expect(bench.open(1) == [1, 2, 3])
        bench.set(
            WebhookDelegate(1, version: 2) {
                $0.events = [.exact("b.x")]
                $0.maxInFlight = 1
            })
        bench.publish(1)
        bench.publishAndTurn(2, type: "b.x")
        #expect(bench.open(1) == [1, 2, 3])
        bench.finishAndTurn()
        #expect(bench.open(1) == [5])
        bench.deliverAll()
        #expect(bench.delivered == 5)
    }

    @Test("a removed delegate leaves nothing behind, and its key can be reused while its requests are open")
    func remove() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 2)
        bench.finish(event: 1, with: .failure)
        bench.engine.receive(.remove(1))
        bench.set(WebhookDelegate(2, start: 2))
        bench.publishAndTurn()
        #expect(bench.open == [.init(1, 2), .init(2, 3)])
        bench.finish(1, with: .failure)
        bench.finish(2)
        let checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.waiting.isEmpty)
        #expect(checkpoint.lanes.isEmpty)
        #expect(checkpoint.attempts.count == 3)
        bench.advance(seconds: 100_000)
        #expect(bench.open.isEmpty)
        #expect(bench.engine.board.entry(1) == nil)
    }

    @Test("only events with the requested subjects are delivered")
    func subjects() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.subjects = ["user:1"] })
        bench.publish(1, subject: "user:1")
        bench.publish(1, subject: "user:2")
        bench.publishAndTurn(1)
        #expect(bench.open(1) == [1])
    }

    @Test("after a stop nothing starts, and the flush ends when everything is written")
    func stop() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
        bench.engine.receive(.stop(deadline: 0))
        bench.publishAndTurn()
        #expect(bench.open(1) == [1])
        bench.finish()
        #expect(!bench.engine.flush())
        #expect(!bench.engine.flush())
        #expect(bench.submitted.map(\.attempts.count) == [1])
        #expect(bench.submitted[0].settled == 1)
        bench.engine.receive(.checkpointEnded(true))
        #expect(bench.engine.flush())
    }

    @Test("an attempt of a stopped sender does not count")
    func stopped() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
        bench.engine.receive(.stop(deadline: 0))
        bench.sender.close { bench.engine.finished($0, $1) }
        let checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.attempts.isEmpty)
        #expect(checkpoint.lanes == [LanePosition(delegate: 1, cursor: 0, position: 1)])
    }

    @Test("an attempt that the sender could not make is made a second later, and does not count")
    func notMade() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
        bench.finish(with: CallbackOutcome(verdict: .failed(.stopped, detail: "out of memory"), duration: 0))
        let checkpoint = try #require(bench.checkpoint())
        #expect(checkpoint.attempts.isEmpty)
        #expect(checkpoint.waiting.map(\.attempts) == [0])
        #expect(bench.open.isEmpty)
        bench.clock.advance(nanoseconds: 1_000_000_000)
        bench.turn()
        #expect(bench.open == [.init(1, 1, 1)])
        bench.deliverAll()
        #expect(bench.checkpoint()?.ended == [DeliveryKey(delegate: 1, event: 1)])
    }

    @Test("a lane whose requests could not be made does not try its other events at once")
    func notMadeAtAll() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
        bench.finish(with: .failed(.stopped))
        bench.publishAndTurn()
        #expect(bench.open.isEmpty)
        bench.advance(seconds: 1)
        #expect(bench.open == [.init(1, 1, 1), .init(1, 2, 1)])
    }

    @Test("timers of deliveries that were cancelled or requested again do not accumulate")
    func timersOfRequests() throws {
        for isAgain in [false, true] {
            let bench = try EngineBench()
            let rows = (1...2_000).map {
                WaitingDelivery(
                    delegate: 1, event: $0, attempts: 1, dueAt: bench.clock.wall + 3_600_000, state: .retrying)
            }
            bench.set(WebhookDelegate(1, status: .paused), restored: .init(waiting: rows))
            #expect(bench.engine.waitingTimers == 2_000)
            for row in rows { bench.request(isAgain ? .redeliver(row) : .drop(row.key)) }
            #expect(bench.engine.waitingTimers <= 1_025, "\(isAgain)")
        }
    }

    @Test("timers of removed delegates do not accumulate")
    func deadTimers() throws {
        let bench = try EngineBench()
        for key: DelegateKey in 1...3 {
            let waiting = (1...2_000).map {
                WaitingDelivery(
                    delegate: key, event: $0, attempts: 1, dueAt: bench.clock.wall + 3_600_000, state: .retrying)
            }
            bench.set(WebhookDelegate(key), restored: .init(waiting: waiting))
        }
        #expect(bench.engine.waitingTimers == 6_000)
        bench.engine.receive(.remove(1))
        bench.engine.receive(.remove(2))
        #expect(bench.engine.waitingTimers == 2_000)
    }
}
