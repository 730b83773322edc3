import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Requests of clients: redelivery, cancellation, replay and erasure.
@Suite("Redeliveries and replays")
struct RequestTests {
    private func query(_ states: Set<WaitingDelivery.State>) -> DeliveryQuery {
        var query = DeliveryQuery(states)
        query.limit = 1_000
        return query
    }

    @Test("an exhausted delivery is made again, from the first attempt on, and marked")
    func redeliver() throws {
        let (world, key) = try World.registered { $0.retrySchedule = [] }
        world.answer = { _ in .failure }
        world.publishAndSettle(2)
        #expect(world.rows(key).map(\.state) == [.exhausted, .exhausted])
        world.answer = { _ in .success }
        world.manageAndSettle(.redeliver(query([.exhausted])))
        #expect(world.arrivals.suffix(2).map(\.isReplay) == [true, true])
        #expect(world.arrivals.suffix(2).map(\.attempt) == [1, 1])
        #expect(world.rows(key).isEmpty)
    }

    @Test("deliveries that are requested again together keep the order of the log")
    func redeliverInOrder() throws {
        for ordering in [WebhookSettings.Ordering.strict, .subject] {
            let (world, key) = try World.registered {
                $0.ordering = ordering
                $0.retrySchedule = []
            }
            world.answer = { $0.purpose == .delivery(isReplay: false) ? .failure : .success }
            world.publishAndSettle(3, subject: "s")
            #expect(world.arrivals(key) == ["e1", "e2", "e3"], "\(ordering)")
            world.manageAndSettle(.redeliver(query([.exhausted])))
            #expect(world.arrivals(key) == ["e1", "e2", "e3", "e1", "e2", "e3"], "\(ordering)")
        }
    }

    @Test("many deliveries are repeated and cancelled in steps, each once, up to the limit of the request")
    func manySteps() throws {
        let (world, key) = try World.registered { $0.retrySchedule = [] }
        // So few that the receiver does not count as down.
        world.answer = { callback in
            Int(callback.event.id.dropFirst()).map { $0.isMultiple(of: 10) } == true ? .failure : .success
        }
        world.publishAndSettle(30 * DeliveryWrite.rowsOfStep)
        #expect(world.rows(key).count == 3 * DeliveryWrite.rowsOfStep)
        world.answer = { _ in nil }
        var some = query([.exhausted])
        some.limit = DeliveryWrite.rowsOfStep + 10
        guard case .part(let first, _)? = world.manage(.redeliver(some)),
            case .count(let rest)? = world.manage(.redeliver(query([.exhausted]))),
            case .count(let none)? = world.manage(.redeliver(query([.exhausted])))
        else { throw Unexpected("nothing was repeated") }
        #expect((first, rest, none) == (some.limit, 3 * DeliveryWrite.rowsOfStep - some.limit, 0))
        guard case .count(let cancelled)? = world.manage(.cancel(query([.retrying])))
        else { throw Unexpected("nothing was cancelled") }
        #expect(cancelled == 3 * DeliveryWrite.rowsOfStep)
    }

    @Test("a redelivery requested during the first attempt is made once", arguments: [200, 500])
    func redeliverOpen(status: Int) throws {
        for ordering in WebhookSettings.Ordering.allCases {
            let (world, key) = try World.registered { $0.ordering = ordering }
            world.answer = { _ in nil }
            world.publish(1, subject: "s")
            world.manage(.redeliverEvent(id: "e1", delegateID: world.delegate(key)?.id))
            world.publish(1, subject: "s")
            world.answer = {
                $0.event.id == "e1" && $0.purpose == .delivery(isReplay: false) ? .answered(status) : .success
            }
            world.advance(seconds: 100)
            #expect(world.arrivals(key).filter { $0 == "e1" }.count == 2, "\(ordering)")
            #expect(world.arrivals(key).contains("e2"))
            #expect(world.rows(key).isEmpty, "\(ordering): a row stayed")
            if ordering != .none {
                let first = world.arrivals.firstIndex { $0.event == "e2" }
                let last = world.arrivals.lastIndex { $0.event == "e1" }
                if status == 500, let first, let last { #expect(last < first, "\(ordering): e2 came before e1") }
            }
        }
    }

    @Test(
        "a redelivery requested during a retry is made after the retry has failed, and restarts the schedule",
        arguments: WebhookSettings.Ordering.allCases,
        [.failure, .failed(.requestNotMade), .stale, .aborted] as [CallbackOutcome])
    func redeliverFailingRetry(_ ordering: WebhookSettings.Ordering, _ outcome: CallbackOutcome) throws {
        let bench = try EngineBench(
            WebhookDelegate(1) {
                $0.retrySchedule = [1, 3_600]
                $0.ordering = ordering
            })
        bench.publishAndTurn(1, subject: "s")
        bench.finish(with: .failure)
        bench.advance(seconds: 2)
        bench.written()
        #expect(bench.open == [.init(1, 1, 2)])
        bench.request(
            .redeliver(
                WaitingDelivery(delegate: 1, event: 1, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)))
        bench.publishAndTurn(1, subject: "s")
        bench.finishAndTurn(event: 1, with: outcome)
        #expect(bench.open.first == .init(1, 1, 1))
        bench.finish(event: 1, with: .failure)
        #expect(bench.written().last?.waiting.first { $0.event == 1 }?.attempts == 1)
        bench.advance(seconds: 2)
        #expect(bench.open.first == .init(1, 1, 2))
        bench.deliverAll()
        #expect(bench.written().flatMap(\.ended).contains(DeliveryKey(delegate: 1, event: 1)))
        #expect(bench.delivered == 2)
    }

    @Test("a redelivery requested during a retry is made after the retry has succeeded")
    func redeliverSucceedingRetry() throws {
        for ordering in WebhookSettings.Ordering.allCases {
            let (world, key) = try World.registered {
                $0.retrySchedule = [1]
                $0.ordering = ordering
            }
            world.answer = { $0.attempt == 1 ? .failure : nil }
            world.publish(1, subject: "s")
            world.advance(seconds: 2)
            world.manage(.redeliverEvent(id: "e1", delegateID: world.delegate(key)?.id))
            world.publish(1, subject: "s")
            world.answer = { _ in .success }
            world.advance(seconds: 10)
            #expect(world.arrivals(key).filter { $0 == "e1" }.count == 3, "\(ordering)")
            #expect(world.arrivals.last { $0.event == "e1" } == .init(key, "e1", 1, isReplay: true), "\(ordering)")
            #expect(world.arrivals(key).contains("e2"))
            #expect(world.rows(key).isEmpty, "\(ordering): a row stayed")
        }
    }

    @Test("with strict order, a redelivered delivery still goes first")
    func redeliverStrict() throws {
        let (world, key) = try World.registered { $0.ordering = .strict }
        world.answer = { _ in .failure }
        world.publishAndSettle(2)
        #expect(world.arrivals(key) == ["e1"])
        world.manage(.redeliver(query([.retrying])))
        #expect(world.arrivals(key) == ["e1", "e1"])
        world.advance(seconds: 3)
        #expect(world.arrivals(key) == ["e1", "e1"])
        world.answer = { _ in .success }
        world.advance(seconds: 10)
        #expect(world.arrivals(key) == ["e1", "e1", "e1", "e2"])
    }

    @Test("with strict order, a redelivered delivery still goes first after a restart")
    func redeliverStrictRestart() throws {
        let (world, key) = try World.registered { $0.ordering = .strict }
        world.answer = { _ in .failure }
        world.publishAndSettle(2)
        world.manageAndSettle(.redeliver(query([.retrying])))
        #expect(world.arrivals(key) == ["e1", "e1"])
        try world.restart()
        world.settle()
        #expect(world.arrivals(key) == ["e1", "e1"], "the retry is not due")
        world.answer = { _ in .success }
        world.advance(seconds: 20)
        #expect(world.arrivals(key) == ["e1", "e1", "e1", "e2"])
        #expect(world.rows(key).isEmpty)
    }

    @Test("so does one that was requested during its first attempt")
    func redeliverOpenStrictRestart() throws {
        let (world, key) = try World.registered { $0.ordering = .strict }
        world.answer = { _ in nil }
        world.publish(2)
        world.manage(.redeliverEvent(id: "e1", delegateID: world.delegate(key)?.id))
        world.update(key) { state, now in state.apply(.paused, now: now) }
        world.answer = { _ in .failure }
        world.settle()
        #expect(world.rows(key).map(\.isFirst) == [true])
        try world.restart()
        world.resume(key)
        world.settle()
        #expect(world.arrivals(key) == ["e1", "e1"])
        world.answer = { _ in .success }
        world.advance(seconds: 60)
        #expect(world.arrivals(key) == ["e1", "e1", "e1", "e2"])
    }

    @Test("with strict order, one by its event goes first after a crash, too", arguments: [false, true])
    func redeliverStrictCrash(isNamed: Bool) throws {
        let (world, key) = try World.registered { $0.ordering = .strict }
        world.answer = { _ in .failure }
        world.publishAndSettle(2)
        #expect(world.arrivals(key) == ["e1"])
        let id = isNamed ? world.delegate(key)?.id : nil
        world.manage(.redeliverEvent(id: "e1", delegateID: id))
        #expect(world.rows(key).map(\.isFirst) == [true])
        try world.crash()
        world.settle()
        #expect(!world.arrivals(key).contains("e2"))
        world.answer = { _ in .success }
        world.advance(seconds: 60)
        #expect(world.arrivals(key).last == "e2")
    }

    @Test("a redelivery is not lost by an earlier checkpoint")
    func redeliverCrossing() throws {
        let (world, key) = try World.registered { $0.retrySchedule = [1] }
        world.answer = { $0.attempt == 1 ? .failure : .success }
        world.publish()
        world.advance(seconds: 0.95)
        world.clock.advance(seconds: 0.05)
        world.run()
        // Delivered in the second attempt: the row's end is not in the store yet.
        #expect(world.rows(key).count == 1)
        world.answer = { _ in nil }
        world.manageAndSettle(.redeliver(query([.retrying])))
        #expect(world.rows(key).map(\.state) == [.retrying])
        world.answer = { _ in .success }
        try world.crash()
        world.settle()
        #expect(world.arrivals.last == .init(key, "e1", 1, isReplay: true))
        #expect(world.rows(key).isEmpty)
    }

    @Test("a retry that the changed delegate no longer wants is not sent, and ends as unwanted")
    func retryUnwanted() throws {
        for change in [
            { $0.settings.events = [.exact("b.x")] }, { $0.settings.subjects = ["other"] },
            { $0.settings.filter = ContentFilter(text: Array(#"{"data": {"n": [2]}}"#.utf8)) },
        ] as [@Sendable (inout WebhookDelegate.State) -> Void] {
            let (world, key) = try World.registered { $0.retrySchedule = [10, 10] }
            world.answer = { _ in .failure }
            world.publishAndSettle(1, subject: "s", data: #"{"n": 1}"#)
            #expect(world.rows(key).map(\.state) == [.retrying])
            world.update(key) { state, _ in change(&state) }
            world.advance(seconds: 100)
            #expect(world.arrivals(key) == ["e1"])
            #expect(world.rows(key).map(\.state) == [.unwanted] && world.rows(key).map(\.attempts) == [1])
            #expect(world.announced.isEmpty)
        }
    }

    @Test("a redelivery by event and delegate ignores the delegate's settings, including its retries")
    func named() throws {
        for restarts in [false, true] {
            let (world, key) = try World.registered {
                $0.events = [.exact("b.x")]
                $0.retrySchedule = [10, 10]
            }
            world.publishAndSettle(2)
            world.answer = { _ in .failure }
            world.manageAndSettle(.redeliverEvent(id: "e1", delegateID: world.delegate(key)?.id))
            if restarts { try world.crash() }
            world.advance(seconds: 100)
            #expect(world.arrivals(key) == ["e1", "e1", "e1"])
            #expect(world.rows(key).map(\.state) == [.exhausted])
            // Not so when it is one of many.
            world.answer = { _ in .success }
            world.manageAndSettle(.redeliver(query([.exhausted])))
            #expect(world.arrivals(key).count == 3)
            #expect(world.rows(key).map(\.state) == [.unwanted])
        }
    }

    @Test("in every ordering, deliveries after an unwanted retry continue")
    func unwantedBarsNothing() throws {
        for ordering in WebhookSettings.Ordering.allCases {
            let (world, key) = try World.registered { $0.ordering = ordering }
            world.answer = { _ in .failure }
            world.publish(1, subject: "s")
            world.publishAndSettle(1, type: "b.x", subject: "s")
            world.answer = { _ in .success }
            world.update(key) { state, _ in state.settings.events = [.exact("b.x")] }
            world.advance(seconds: 100)
            #expect(world.arrivals(key).last == "e2", "\(ordering)")
            #expect(world.rows(key).map(\.state) == [.unwanted], "\(ordering)")
            #expect(world.contents.lanes.isEmpty, "\(ordering)")
        }
    }

    @Test("waiting deliveries can be cancelled, even while their retry is in flight")
    func cancel() throws {
        let (world, key) = try World.registered { $0.retrySchedule = [1, 1, 1] }
        world.answer = { $0.attempt == 1 || $0.event.id == "e1" ? .failure : nil }
        world.publish(2)
        world.advance(seconds: 1.5)
        world.manage(.cancel(query([.retrying])))
        world.answer = { _ in .failure }
        world.advance(seconds: 100)
        #expect(world.rows(key).map(\.state) == [.dropped, .dropped])
        #expect(world.arrivals(key).count == 4)
        #expect(world.announced.isEmpty)
    }

    @Test("a redelivery that is cancelled during an attempt without a row ends with it", arguments: [200, 500])
    func cancelRequestedDuringAttempt(status: Int) throws {
        for (ordering, replays) in WebhookSettings.Ordering.allCases.flatMap({ [($0, false), ($0, true)] }) {
            let (world, key) = try World.registered { $0.ordering = ordering }
            let id = world.delegate(key)?.id
            if replays { world.publishAndSettle(1) }
            world.answer = { _ in nil }
            if replays {
                world.manage(.replay(delegateID: id ?? "", after: 0, until: nil))
                world.settle()
            } else {
                world.publish(1, subject: "s")
            }
            let before = world.arrivals(key).count
            world.manage(.redeliverEvent(id: "e1", delegateID: id))
            guard case .count(1)? = world.manage(.cancel(query([.retrying]))) else { throw Unexpected("not cancelled") }
            world.answer = { _ in .answered(status) }
            world.advance(seconds: 100)
            #expect(world.arrivals(key).count - before <= 1, "\(ordering), \(replays)")
            #expect(world.rows(key).map(\.state) == (status == 200 ? [] : [.dropped]), "\(ordering), \(replays)")
        }
    }

    @Test(
        "a redelivery after a cancellation, both during a retry, is made once, after it",
        arguments: WebhookSettings.Ordering.allCases, [CallbackOutcome.success, .failure])
    func redeliverCancelled(_ ordering: WebhookSettings.Ordering, _ outcome: CallbackOutcome) throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.ordering = ordering })
        let again = WaitingDelivery(delegate: 1, event: 1, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)
        bench.publishAndTurn(2, subject: "s")
        bench.finish(1, event: 1, with: .failure)
        bench.finish()
        bench.advance(seconds: 10)
        bench.request(.drop(again.key))
        bench.request(.redeliver(again))
        bench.turn()
        #expect(bench.open(1) == [1])
        bench.finish(with: outcome)
        bench.advance(seconds: 10)
        #expect(bench.open(1).count == 1)
        bench.deliverAll()
        #expect(bench.open(1).isEmpty)
        #expect(bench.delivered == (outcome.isSuccess ? 3 : 2))
    }

    @Test("a loop writes nothing until it has all requests of a transaction")
    func requestsOfTransaction() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.events = [.exact("other")] })
        let again = WaitingDelivery(delegate: 1, event: 1, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)
        bench.publishAndTurn()
        bench.engine.receive(.redeliver(again))
        bench.advance(seconds: 10)
        #expect(bench.checkpoint() == nil)
        bench.engine.receive(.known(change: 7))
        bench.advance(seconds: 10)
        let written = bench.checkpoint()
        #expect(written?.known == 7)
        #expect(written?.waiting.map(\.state) == [.unwanted])
    }

    @Test("a cancelled retry whose attempt was not made does not block its subject")
    func cancelNotMade() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.ordering = .subject })
        bench.publishAndTurn(2, subject: "s")
        bench.finish(with: .failure)
        bench.advance(seconds: 10)
        #expect(bench.open(1) == [1])
        bench.request(.drop(DeliveryKey(delegate: 1, event: 1)))
        bench.finishAndTurn(with: .failed(.stopped))
        #expect(bench.open(1) == [2])
    }

    @Test("a delivery that was given up before the lane read its event is delivered once the lane has made it")
    func givenUpAhead() throws {
        let bench = try EngineBench(WebhookDelegate(1, status: .paused), publishing: 2)
        let key = DeliveryKey(delegate: 1, event: 2)
        bench.request(
            .redeliver(
                WaitingDelivery(delegate: 1, event: 2, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)))
        bench.request(.drop(key))
        let rows = try #require(bench.checkpoint()).waiting
        #expect(rows.map(\.state) == [.dropped] && rows.map(\.isFirst) == [false])
        bench.set(WebhookDelegate(1))
        bench.deliverAll()
        #expect(bench.delivered == 2)
        #expect(bench.checkpoint()?.ended == [key])
    }

    @Test("so is one that was given up before a restart")
    func givenUpBeforeRestart() throws {
        let bench = try EngineBench(settled: 2, backlog: 2)
        bench.set(
            WebhookDelegate(1),
            restored: .init(position: LanePosition(delegate: 1, cursor: 0, position: 0), givenUp: [2]))
        bench.turn()
        bench.answerReads()
        bench.deliverAll()
        while !bench.reads.isEmpty {
            bench.answerReads()
            bench.deliverAll()
        }
        #expect(bench.delivered == 2)
        #expect(bench.checkpoint()?.ended == [DeliveryKey(delegate: 1, event: 2)])
    }

    @Test("a start makes no redelivery again that was given up after the lane had read its event")
    func givenUpBehind() throws {
        let again = WaitingDelivery(delegate: 1, event: 2, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)
        let bench = try EngineBench()
        bench.set(
            WebhookDelegate(1),
            restored: .init(position: LanePosition(delegate: 1, cursor: 0, position: 0), waiting: [again]))
        bench.publishAndTurn(2)
        let lane = try #require(bench.engine.lane(1))
        #expect(lane.next == nil && lane.position == 2)
        bench.request(.drop(again.key))
        let rows = try #require(bench.checkpoint()).waiting
        #expect(rows.map(\.state) == [.dropped] && rows.map(\.isFirst) == [true])
    }

    /// A lane that begins with a redelivery of the first event, which it has not read, in the store.
    private func benchOfStoredRedelivery(
        _ ordering: WebhookSettings.Ordering, subject: String?
    ) throws -> (EngineBench, WaitingDelivery) {
        let memory = MemoryStore()
        let again = WaitingDelivery(
            delegate: 1, event: 1, attempts: 0, dueAt: 0, state: .retrying, isReplay: true, subject: subject)
        try memory.transaction { (transaction) throws(StoreError) in
            try transaction.append([Event(id: "e1", subject: subject)])
            try transaction.setDelegate(WebhookDelegate(1))
            try transaction.redeliver([again])
        }
        let lane = LanePosition(delegate: 1, cursor: 0, position: 0)
        var backlog = LaneBacklog(count: 1)
        try backlog.read(lane, ordering, memory.makeReader())
        let bench = try EngineBench()
        bench.set(WebhookDelegate(1) { $0.ordering = ordering }, restored: .init(position: lane, backlog: backlog))
        bench.publish(2, subject: subject)
        bench.advance(seconds: 10)
        return (bench, again)
    }

    @Test("an event does not wait for its own redelivery, which a start has left in the store")
    func redeliveredInStore() throws {
        let (bench, again) = try benchOfStoredRedelivery(.subject, subject: "s")
        let lane = try #require(bench.engine.lane(1))
        #expect(lane.next == nil && bench.open(1).isEmpty)
        _ = bench.checkpoint()
        bench.engine.receive(.rows(1, .due(after: .min, event: .min), [again]))
        bench.advance(seconds: 10)
        #expect(bench.open(1) == [1])
        bench.finish()
        bench.advance(seconds: 10)
        #expect(bench.open(1) == [2])
    }

    @Test("and is delivered once where nothing waits for it", arguments: [WebhookSettings.Ordering.none, .subject])
    func redeliveredInStoreOnce(_ ordering: WebhookSettings.Ordering) throws {
        let (bench, again) = try benchOfStoredRedelivery(ordering, subject: nil)
        #expect(bench.open(1) == [2])
        bench.finish()
        _ = bench.checkpoint()
        bench.engine.receive(.rows(1, .due(after: .min, event: .min), [again]))
        bench.advance(seconds: 10)
        #expect(bench.open(1) == [1])
        bench.finish()
        bench.advance(seconds: 10)
        #expect(bench.open(1).isEmpty && bench.delivered == 2)
    }

    @Test("a row that is given up during the first attempt ends when this one succeeds")
    func givenUpDuringFirstAttempt() throws {
        let key = DeliveryKey(delegate: 1, event: 1)
        let again = WaitingDelivery(delegate: 1, event: 1, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)
        let none = WebhookDelegate(1) { $0.events = [.exact("other")] }
        let gone = WebhookDelegate(1, status: .gone) { $0.maxInFlight = 1 }
        let cases: [(WaitingDelivery.State, (EngineBench) -> Void)] = [
            (
                .unwanted,
                {
                    $0.set(none)
                    $0.request(.redeliver(again))
                }
            ),
            (
                .dropped,
                {
                    $0.request(.redeliver(again))
                    $0.set(gone)
                }
            ),
            (
                .dropped,
                {
                    $0.set(gone)
                    $0.request(.redeliver(again))
                }
            ),
        ]
        for (state, giveUp) in cases {
            let bench = try EngineBench(WebhookDelegate(1) { $0.maxInFlight = state == .unwanted ? 2 : 1 })
            bench.publishAndTurn()
            giveUp(bench)
            bench.turn()
            #expect(bench.open(1) == [1])
            #expect(bench.checkpoint()?.waiting.map(\.state) == [state])
            bench.finish()
            #expect(bench.checkpoint()?.ended == [key])
        }
    }

    @Test("so does one during the attempt of a replay, and of a retry")
    func givenUpDuringLaterAttempt() throws {
        let key = DeliveryKey(delegate: 1, event: 1)
        let again = WaitingDelivery(delegate: 1, event: 1, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)
        let replay = Replay(id: 1, delegate: 1, cursor: 0, until: 1, createdAt: 0)
        let none = WebhookDelegate(1) { $0.events = [.exact("other")] }
        let gone = WebhookDelegate(1, status: .gone)
        let ended: (EngineBench) -> Void = {
            $0.request(.redeliver(again))
            $0.set(gone)
        }
        let cases: [(isReplay: Bool, WaitingDelivery.State, (EngineBench) throws -> Void)] = [
            (
                true, .exhausted,
                {
                    $0.request(.redeliver(again))
                    $0.turn()
                    try $0.finishNewest(with: .failed(.requestNotMade))
                }
            ),
            (
                true, .unwanted,
                {
                    $0.set(none)
                    $0.request(.redeliver(again))
                }
            ),
            (true, .dropped, ended), (false, .dropped, ended),
        ]
        for (isReplay, state, giveUp) in cases {
            let delegate = WebhookDelegate(1) {
                $0.retrySchedule = [1]
                $0.maxInFlight = state == .dropped ? 1 : 2
            }
            let bench = try EngineBench(delegate, publishing: 1)
            bench.finishAndTurn(with: isReplay ? .success : .failure)
            if isReplay { bench.engine.receive(.replay(replay)) }
            bench.advance(seconds: 2)
            bench.written()
            #expect(bench.open(1) == [1])
            try giveUp(bench)
            bench.turn()
            #expect(bench.written().last?.waiting.map(\.state) == [state], "\(isReplay)")
            #expect(bench.open(1) == [1])
            bench.finish()
            #expect(bench.written().flatMap(\.ended) == [key], "\(state), \(isReplay)")
        }
    }

    @Test("a redelivery that is only in the store continues after a failed attempt without a row")
    func requestedInStore() throws {
        let lane = Lane(WebhookDelegate(1), next: nil, position: 1)
        lane.replays.append(Replay(id: 1, delegate: 1, cursor: 0, until: 1, createdAt: 0))
        for (origin, outcome) in [
            (.log, .failure), (.replay(1), .failure), (.replay(1), .aborted),
        ] as [(Lane.Origin, CallbackOutcome)] {
            let start = lane.started(1, origin, now: 0)
            let end = Lane.End(
                sequence: 1, origin: origin, subject: nil, attempts: 0, outcome: outcome, isRequested: true,
                start: start, now: 0, wall: 0, random: 0)
            #expect(lane.finished(end).settlement == .superseded)
            #expect(lane.rows.isEmpty)
        }
    }

    @Test(
        "a replay whose attempt fails is retried if a redelivery during the attempt was given up, until it is requested once more"
    )
    func givenUpDuringFailingReplay() throws {
        let key = DeliveryKey(delegate: 1, event: 1)
        let again = WaitingDelivery(delegate: 1, event: 1, attempts: 0, dueAt: 0, state: .retrying, isReplay: true)
        for isRequestedAgain in [false, true] {
            let bench = try EngineBench(WebhookDelegate(1) { $0.retrySchedule = [3_600] }, publishing: 1)
            bench.deliverAll()
            bench.engine.receive(.replay(Replay(id: 1, delegate: 1, cursor: 0, until: 1, createdAt: 0)))
            bench.turn()
            bench.request(.redeliver(again))
            bench.turn()
            try bench.finishNewest(with: .failed(.requestNotMade))
            if isRequestedAgain { bench.request(.redeliver(again)) }
            bench.finish(with: .failure)
            bench.advance(seconds: 1)
            #expect(bench.open(1) == (isRequestedAgain ? [1] : []))
            bench.advance(seconds: 4_000)
            #expect(bench.open(1) == [1])
            bench.finish()
            #expect(bench.written().flatMap(\.ended) == [key])
        }
    }

    @Test("a replay runs beside the lane, which takes turns with it")
    func replay() throws {
        let world = try World()
        world.publish(20)
        let key = world.register { $0.maxInFlight = 1 }
        let id = try #require(world.delegate(key)?.id)
        world.answer = { _ in nil }
        world.manage(.replay(delegateID: id, after: 0, until: nil))
        world.publish(5)
        world.answer = { _ in .success }
        world.settle()
        let live = world.arrivals.indices.filter { !world.arrivals[$0].isReplay }
        #expect(world.arrivals.filter(\.isReplay).map(\.event) == (1...20).map { "e\($0)" })
        #expect(live.map { world.arrivals[$0].event } == (21...25).map { "e\($0)" })
        #expect(live.max() ?? .max <= 11)
        #expect(world.contents.replays.isEmpty)
        #expect(world.contents.lanes.isEmpty)
    }

    @Test("a replay that is ended starts nothing more; its open requests continue, and so does the next replay")
    func endReplay() throws {
        let world = try World()
        world.publish(20)
        let key = world.register {
            $0.maxInFlight = 2
            $0.retrySchedule = [10]
        }
        let id = try #require(world.delegate(key)?.id)
        world.answer = { _ in nil }
        var replays: [Int64] = []
        for (after, until) in [(0, 10), (10, 15), (15, 18)] as [(LogPosition, LogPosition)] {
            guard case .replay(let replay) = world.manage(.replay(delegateID: id, after: after, until: until))
            else { throw Unexpected("no replay") }
            #expect(replay.start == after)
            replays.append(replay.id)
        }
        #expect(world.arrivals(key) == ["e1", "e2"])
        for replay in replays.prefix(2) {
            guard case .count(1) = world.manage(.endReplay(delegateID: id, replay: replay))
            else { throw Unexpected("it was not ended") }
        }
        guard case .failed(.notFound) = world.manage(.endReplay(delegateID: id, replay: replays[0]))
        else { throw Unexpected("it was ended twice") }
        #expect(world.contents.replays.keys.sorted() == [replays[2]])
        world.answer = { $0.event.id == "e1" && $0.attempt == 1 ? .failure : .success }
        world.advance(seconds: 60)
        #expect(world.arrivals(key).sorted() == ["e1", "e1", "e16", "e17", "e18", "e2"])
        #expect(world.contents.replays.isEmpty && world.rows(key).isEmpty)
        try world.crash()
        world.settle()
        #expect(world.arrivals(key).count == 6)
    }

    @Test("late retries get their turn beside a long replay")
    func replayAndRetries() throws {
        let world = try World()
        world.publish(200)
        let key = world.register {
            $0.retrySchedule = [1, 1]
            $0.maxInFlight = 1
            $0.rateLimit = 10
        }
        world.answer = { $0.event.id == "e201" && $0.attempt == 1 ? .failure : .success }
        world.publish()
        world.manage(.replay(delegateID: world.delegate(key)?.id ?? "", after: 0, until: nil))
        world.advance(seconds: 3)
        #expect(world.arrivals.contains(.init(key, "e201", 2)))
        #expect(world.contents.replays.count == 1)
    }

    @Test("a delivery that was exhausted is delivered once a replay has made it")
    func replayOfExhausted() throws {
        for ordering in WebhookSettings.Ordering.allCases {
            let (world, key) = try World.registered {
                $0.ordering = ordering
                $0.retrySchedule = []
            }
            world.answer = { _ in .failure }
            world.publishAndSettle(2, subject: "s")
            #expect(world.rows(key).map(\.state) == [.exhausted, .exhausted], "\(ordering)")
            world.answer = { _ in .success }
            world.manage(.replay(delegateID: world.delegate(key)?.id ?? "", after: 0, until: 2))
            world.advance(seconds: 10)
            #expect(world.arrivals(key) == ["e1", "e2", "e1", "e2"], "\(ordering)")
            #expect(world.rows(key).isEmpty && world.contents.replays.isEmpty, "\(ordering)")
        }
    }

    @Test("a replay continues after a crash, and skips events with a row of their own")
    func replayRestarts() throws {
        let (world, key) = try World.registered { $0.maxInFlight = 1 }
        world.answer = { $0.event.id == "e3" ? .failure : .success }
        world.publishAndSettle(6)
        #expect(world.rows(key).map(\.event) == [3])
        let id = try #require(world.delegate(key)?.id)
        world.answer = { $0.event.id == "e4" ? nil : .success }
        world.manageAndSettle(.replay(delegateID: id, after: 0, until: 5))
        #expect(world.arrivals.filter(\.isReplay).map(\.event) == ["e1", "e2", "e4"])
        world.answer = { _ in .success }
        try world.crash()
        world.advance(seconds: 10)
        #expect(world.arrivals.filter(\.isReplay).map(\.event) == ["e1", "e2", "e4", "e4", "e5"])
        #expect(world.contents.replays.isEmpty && world.rows(key).isEmpty)
    }

    @Test("replays without matching events end, in any order, also at a start")
    func emptyReplays() throws {
        let (world, key) = try World.registered { $0.maxInFlight = 1 }
        let id = try #require(world.delegate(key)?.id)
        world.publish(3)
        world.answer = { _ in nil }
        world.manage(.replay(delegateID: id, after: 1, until: 2))
        world.manage(.replay(delegateID: id, after: 3, until: 3))
        world.manage(.replay(delegateID: id, after: 3, until: 2))
        world.answer = { _ in .success }
        world.settle()
        #expect(world.contents.replays.isEmpty)
        try world.store.memory.transaction { transaction throws(StoreError) in
            _ = try transaction.addReplay(delegate: key, after: 3, until: 3, at: 0)
        }
        try world.crash()
        world.settle()
        #expect(world.contents.replays.isEmpty)
    }

    @Test("a lane that reaches an event with a row of a replay leaves it to the replay")
    func replayIsFaster() throws {
        for ordering in WebhookSettings.Ordering.allCases {
            let (world, key) = try World.registered {
                $0.ordering = ordering
                $0.retrySchedule = [30]
            }
            let id = try #require(world.delegate(key)?.id)
            world.update(key) { state, now in state.apply(.paused, now: now) }
            world.publish(2, subject: "s")
            world.manage(.redeliverEvent(id: "e1", delegateID: id))
            world.answer = { _ in .failure }
            world.update(key) { state, now in state.apply(.resumed, now: now) }
            world.answer = { _ in .success }
            world.advance(seconds: 100)
            #expect(world.arrivals(key).count { $0 == "e1" } == 2, "\(ordering)")
            #expect(world.arrivals(key).last == "e2" || ordering == .none, "\(ordering)")
            #expect(world.rows(key).isEmpty && world.contents.lanes.isEmpty, "\(ordering)")
        }
    }

    @Test("a replay leaves to a lane with an order what the lane has not reached")
    func replayInOrder() throws {
        for ordering in [WebhookSettings.Ordering.strict, .subject] {
            let (world, key) = try World.registered {
                $0.ordering = ordering
                $0.retrySchedule = [30]
            }
            let id = try #require(world.delegate(key)?.id)
            world.answer = { $0.event.id == "e2" && $0.attempt == 1 ? .failure : .success }
            world.publishAndSettle(4, subject: "s")
            world.manageAndSettle(.replay(delegateID: id, after: 0, until: 4))
            world.advance(seconds: 100)
            let arrivals = world.arrivals(key)
            #expect(arrivals.filter { $0 != "e1" } == ["e2", "e2", "e3", "e4"], "\(ordering)")
            #expect(arrivals.count { $0 == "e1" } == 2, "\(ordering): the lane had reached it")
            #expect(world.rows(key).isEmpty && world.contents.replays.isEmpty, "\(ordering)")
        }
    }

    @Test("after a crash, a replay leaves to a lane with an order what it has not been offered yet")
    func replayAheadOfRouter() throws {
        let (world, key) = try World.registered {
            $0.events = [.prefix("a.")]
            $0.ordering = .strict
        }
        world.settle()
        world.publish(600, type: "b.x")
        let before = world.contents.head
        world.publish(3)
        let id = try #require(world.delegate(key)?.id)
        world.manage(.replay(delegateID: id, after: before, until: nil))
        let count = world.arrivals(key).count
        // Nothing of this is in a checkpoint. The events are routed again, some in each turn.
        try world.crash()
        world.settle()
        #expect(Array(world.arrivals(key).dropFirst(count)) == ["e601", "e602", "e603"])
        #expect(world.contents.replays.isEmpty)
    }

    @Test("a replay creates no more rows than a lane may have")
    func replayIsBounded() throws {
        let lane = Lane(WebhookDelegate(1), next: nil, position: 0)
        lane.replays.append(Replay(id: 1, delegate: 1, cursor: 0, until: 1 << 40, createdAt: 0))
        for event in 1...LogPosition(LoopLimits().waitingDeliveries) {
            guard case .replay(event) = lane.nextSource() else { throw Unexpected("nothing to start at \(event)") }
            _ = lane.replays.pass(event)
            lane.started(event, .replay(1), now: 0)
            _ = lane.finished(
                .init(
                    sequence: event, origin: .replay(1), subject: nil, attempts: 0, outcome: .failure,
                    start: .init(at: 0, window: 0, epoch: 0, isProbe: false), now: 0, wall: 0, random: 0))
            // Now and then one succeeds: the lane works.
            lane.flow = FlowControl()
        }
        #expect(lane.nextSource() == nil)
    }

    @Test("an erased event is not sent any more, and leaves no trace of open deliveries")
    func erase() throws {
        let (world, key) = try World.registered { $0.maxInFlight = 2 }
        world.answer = { $0.event.id == "e1" ? .failure : nil }
        world.publishAndSettle(4, data: #"{"secret":1}"#)
        #expect(world.open.count == 2)
        guard case .erased(let erasure) = world.manage(.erase([1, 2, 3, 4]))
        else { throw Unexpected("nothing was erased") }
        #expect(erasure.events == 4 && erasure.attempts == 1 && erasure.deliveries == 1)
        world.answer = { _ in
            CallbackOutcome(verdict: .answered(status: 500, retryAfter: nil), duration: 1, excerpt: [1])
        }
        world.publish()
        world.answer = { _ in .success }
        world.advance(seconds: 100_000)
        #expect(!world.arrivals(key).contains("e4"))
        #expect(world.contents.attempts.allSatisfy { $0.record.event == 5 })
        // Nor is it promised to be.
        let redelivery = world.manage(.redeliverEvent(id: "e1", delegateID: world.delegate(key)?.id))
        guard case .count(0) = redelivery else { throw Unexpected("\(String(describing: redelivery))") }
        guard case .failed = world.manage(.redeliverEvent(id: "e1", delegateID: "dlg_0"))
        else { throw Unexpected("there is no such delegate") }
        #expect(world.rows(key).isEmpty)
        #expect(world.contents.lanes.isEmpty)
    }

    @Test("an erasure of many events comes in steps, and the counts of the log are those of a count")
    func eraseSteps() throws {
        let world = try World()
        world.publishAndSettle(2_000, data: #"{"secret":1}"#)
        var rest = (1...LogPosition(500)).map { $0 }
        var (steps, events) = (0, 0)
        while !rest.isEmpty, steps < 100 {
            guard case .erased(let erasure)? = world.manage(.erase(rest)) else { break }
            #expect(erasure.events <= DeliveryWrite.rowsOfStep)
            rest = erasure.rest
            steps += 1
            events += erasure.events
        }
        #expect(events == 500 && steps == 500 / DeliveryWrite.rowsOfStep + 1)
        let counted = world.contents.recovery().blocks.reduce(0) { $0 + $1.bytes }
        #expect(world.process.usage.total(of: .default).bytes == counted)
    }

    @Test("a page that was read before an erasure and arrives after it sends nothing")
    func erasePage() throws {
        let bench = try EngineBench(settled: 10, backlog: 10)
        bench.set(
            WebhookDelegate(1), restored: .init(position: LanePosition(delegate: 1, cursor: 7, position: 7)))
        bench.turn()
        #expect(bench.reads == [7])
        bench.engine.receive(.erase([9], of: .default))
        bench.answerReads()
        bench.turn()
        #expect(bench.open(1) == [8, 10])
    }

    @Test("a delivery that an erasure ends is not shown any more, and its row is left to the erasure, which counts it")
    func eraseShown() throws {
        let bench = try EngineBench(WebhookDelegate(1), publishing: 1)
        bench.finish(with: .failure)
        _ = bench.checkpoint()
        #expect(bench.engine.board.entry(1)?.retrying == 1)
        bench.engine.receive(.erase([1], of: .default))
        let written = bench.checkpoint()
        #expect(written?.ended == [])
        #expect((bench.engine.board.entry(1)?.retrying ?? 0) == 0)
    }

    @Test("a retry whose event is erased during the attempt leaves its row to the erasure, too")
    func eraseOpenRetry() throws {
        let bench = try EngineBench(WebhookDelegate(1) { $0.retrySchedule = [1, 1] }, publishing: 1)
        bench.finishAndTurn(with: .failure)
        _ = bench.checkpoint()
        bench.advance(seconds: 2)
        #expect(bench.open == [.init(1, 1, 2)])
        bench.engine.receive(.erase([1], of: .default))
        bench.finishAndTurn(with: .failure)
        let written = bench.checkpoint()
        #expect(written?.attempts.count == 1)
        #expect(written?.ended == [] && written?.waiting.isEmpty == true)
        #expect(bench.engine.lane(1)?.isIdle == true)
    }

    @Test("an erasure examines the deliveries of its app only, and of all apps if it is not known")
    func eraseOfApp() throws {
        let bench = try EngineBench()
        let other = AppKey(rawValue: 2)
        bench.set(WebhookDelegate(1))
        bench.set(WebhookDelegate(2, app: other))
        for key: DelegateKey in [1, 2] {
            bench.request(
                .redeliver(WaitingDelivery(delegate: key, event: 9, attempts: 0, dueAt: 0, state: .retrying)))
        }
        bench.engine.receive(.erase([9], of: .default))
        #expect(bench.engine.lane(1)?.rows.isEmpty == true)
        #expect(bench.engine.lane(2)?.rows.keys.sorted() == [9])
        bench.engine.receive(.erase([9], of: .unknown))
        #expect(bench.engine.lane(2)?.rows.isEmpty == true)
    }
}

extension CallbackOutcome {
    fileprivate static var aborted: CallbackOutcome {
        var outcome = failure
        outcome.control = .abortMessage
        return outcome
    }

    fileprivate static var stale: CallbackOutcome {
        var outcome = failed(.protocolError)
        outcome.isStale = true
        return outcome
    }
}
