import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Leases, consent and test calls")
struct LeaseAndConsentTests {
    // MARK: Leases

    @Test("a delegate that is not renewed is unregistered, with everything that belongs to it")
    func expires() throws {
        let (world, key) = try World.registered { $0.leaseSeconds = 60 }
        world.answer = { _ in .failure }
        world.publish()
        world.advance(seconds: 59)
        #expect(world.status(key) == .active)
        world.advance(seconds: 2)
        #expect(world.status(key) == nil)
        #expect(world.contents.delegates.isEmpty && world.contents.waiting.isEmpty && world.contents.lanes.isEmpty)
        #expect(world.announced == ["herald.delegate.expired"])
        world.publish()
        world.advance(seconds: 1_000)
        #expect(!world.arrivals(key).contains("e2"))
    }

    @Test("the timers of leases of removed delegates do not accumulate")
    func timers() throws {
        let bench = try EngineBench()
        let end = bench.clock.wall + 86_400_000
        bench.set(WebhookDelegate(1, expiresAt: end))
        for key: DelegateKey in 2...5_000 {
            bench.set(WebhookDelegate(key, expiresAt: end))
            bench.engine.receive(.remove(key))
        }
        #expect((1...1_026).contains(bench.engine.waitingTimers))
    }

    @Test("a lease that is changed again and again has one timer, once the times of the earlier ones have passed")
    func changedLease() throws {
        let bench = try EngineBench()
        for version: Int64 in 1...100 {
            // Long and short in turn.
            let length: Int64 = version.isMultiple(of: 2) ? 10_000 : 50_000
            bench.set(WebhookDelegate(1, expiresAt: bench.clock.wall + length, version: version))
            if version.isMultiple(of: 2) { continue }
            bench.advance(seconds: 1)
        }
        bench.set(WebhookDelegate(1, expiresAt: bench.clock.wall + 1_000_000, version: 101))
        for _ in 0..<60 {
            bench.advance(seconds: 1)
        }
        #expect(bench.engine.waitingTimers == 1)
    }

    @Test("a delegate that is renewed in time stays, even if the renewal coincides with the end")
    func renewed() throws {
        let (world, key) = try World.registered { $0.leaseSeconds = 60 }
        for _ in 1...20 {
            world.advance(seconds: 50)
            world.update(key) { state, now in state.apply(.leaseRenewed, now: now) }
        }
        // The loop has seen the end, the writer sees the renewal first.
        world.advance(seconds: 59.99)
        world.clock.advance(nanoseconds: 20_000_000)
        _ = world.process.loops[0].engine.turn()
        world.update(key) { state, now in state.apply(.leaseRenewed, now: now) }
        world.advance(seconds: 59)
        #expect(world.status(key) == .active)
        #expect(world.announced.isEmpty)
        world.advance(seconds: 2)
        #expect(world.announced == ["herald.delegate.expired"])
    }

    @Test("a lease survives a restart, and also ends for a delegate that is `gone` or `paused`")
    func restarts() throws {
        let world = try World()
        let paused = world.register("https://receiver.example/paused") { $0.leaseSeconds = 60 }
        let gone = world.register("https://receiver.example/gone") { $0.leaseSeconds = 60 }
        world.update(paused) { state, now in state.apply(.paused, now: now) }
        world.answer = { _ in .answered(410) }
        world.publishAndSettle()
        #expect(world.status(gone) == .gone)
        try world.crash()
        world.advance(seconds: 100)
        #expect(world.contents.delegates.isEmpty)
        #expect(world.announced == ["herald.delegate.gone", "herald.delegate.expired", "herald.delegate.expired"])
    }

    @Test("a lease that ends together with other changes of its delegate does not block a checkpoint")
    func expiresWhileFailing() throws {
        let (world, key) = try World.registered {
            $0.leaseSeconds = 60
            $0.retrySchedule = []
        }
        world.answer = { _ in nil }
        world.publish(5)
        world.advance(seconds: 59.99)
        world.clock.advance(nanoseconds: 10_000_000)
        _ = world.process.loops[0].engine.turn()
        // Within the same tenth of a second it fails as a whole.
        world.answer = { _ in .failure }
        world.advance(seconds: 5)
        #expect(world.status(key) == nil)
        #expect(world.announced.filter { $0 == "herald.delegate.expired" }.count == 1)
        #expect(!world.process.loops[0].engine.hasChanges)
    }

    // MARK: Consent

    private func echo(_ callback: Callback) -> CallbackOutcome {
        CallbackOutcome(verdict: .answered(status: 200, retryAfter: nil), duration: 0, excerpt: callback.event.body)
    }

    private func calls(_ world: World) -> [String] {
        world.callbacks.filter { $0.purpose == .test || $0.purpose == .handshake }.map(\.delegate.settings.url)
    }

    @Test("nothing is sent before the challenge succeeds; events published before that follow")
    func challenge() throws {
        let world = try World()
        world.answer = { _ in .success }
        let key = world.register { $0.verification = .challenge }
        #expect(world.status(key) == .pendingVerification)
        world.publishAndSettle(3)
        #expect(calls(world).count == 1)
        #expect(world.delegate(key)?.state.statusReason?.contains("challenge") == true)
        #expect(world.arrivals.isEmpty)
        world.answer = echo
        world.advance(seconds: 10)
        #expect(world.status(key) == .active)
        #expect(world.delegate(key)?.state.statusReason == nil)
        #expect(world.arrivals(key) == ["e1", "e2", "e3"])
        #expect(world.announced.isEmpty)
    }

    @Test("the handshake requires permission in the response")
    func handshake() throws {
        let (world, key) = try World.registered { $0.verification = .cloudevents }
        world.settle()
        #expect(world.status(key) == .pendingVerification)
        #expect(world.callbacks.map(\.purpose) == [.handshake])
        world.answer = { _ in
            var outcome = CallbackOutcome.success
            outcome.permission = .init(origin: "*", rate: nil)
            return outcome
        }
        world.advance(seconds: 10)
        #expect(world.status(key) == .active)
    }

    @Test(
        "the rate of the handshake is applied, unless the delegate's own is lower",
        arguments: [(nil, 0.5), (2, 0.5), (0.25, 0.25)])
    func allowedRate(_ wanted: Double?, _ kept: Double) throws {
        let (world, key) = try World.registered {
            $0.verification = .cloudevents
            $0.rateLimit = wanted
        }
        world.answer = { _ in
            var outcome = CallbackOutcome.success
            outcome.permission = .init(origin: "*", rate: 30)
            return outcome
        }
        world.advance(seconds: 10)
        #expect(world.status(key) == .active)
        #expect(world.delegate(key)?.settings.rateLimit == kept)
    }

    @Test("after twenty calls without consent there are no more, until the delegate is resumed")
    func twentyTimes() throws {
        let world = try World()
        world.answer = { _ in .answered(404) }
        let key = world.register { $0.verification = .challenge }
        world.advance(seconds: 86_400)
        #expect(calls(world).count == 20)
        #expect(world.delegate(key)?.state.statusReason?.contains("resume it") == true)
        world.answer = echo
        world.advance(seconds: 86_400)
        #expect(calls(world).count == 20)
        world.resume(key)
        world.settle()
        #expect(calls(world).count == 21)
        #expect(world.status(key) == .active)
    }

    @Test("calls that this machine could not make are none of the twenty, and no refusals")
    func notMade() throws {
        let world = try World()
        world.answer = { _ in .failed(.stopped) }
        let key = world.register { $0.verification = .challenge }
        world.advance(seconds: 200)
        #expect(calls(world).count > 20)
        #expect(world.delegate(key)?.state.statusReason == nil)
        world.answer = echo
        world.advance(seconds: 10)
        #expect(world.status(key) == .active)
    }

    @Test("a new address needs its own consent: late consent of the old one does not count")
    func otherAddress() throws {
        let world = try World()
        let key = world.register("https://receiver.example/old") { $0.verification = .challenge }
        world.answer = { _ in nil }
        world.update(key) { state, _ in state.settings.url = "https://receiver.example/new" }
        world.update(key) { state, _ in state.settings.url = "https://receiver.example/newer" }
        world.answer = { callback in
            callback.delegate.settings.url.hasSuffix("newer") ? .answered(404) : self.echo(callback)
        }
        world.settle()
        #expect(world.status(key) == .pendingVerification)
        // One chain of calls continues, to the current address.
        world.advance(seconds: 86_400)
        #expect(calls(world).filter { $0.hasSuffix("newer") }.count == 20)
        world.answer = echo
        world.resume(key)
        world.settle()
        #expect(world.status(key) == .active)
        world.update(key) { state, _ in state.settings.url = "https://receiver.example/newest" }
        #expect(world.status(key) == .pendingVerification)
        world.settle()
        #expect(world.status(key) == .active)
    }

    @Test("consent that coincides with a change of the address is not used for the new one")
    func consentCrosses() throws {
        let world = try World()
        world.answer = { callback in
            callback.delegate.settings.url.hasSuffix("new") ? .answered(404) : self.echo(callback)
        }
        let key = world.register("https://receiver.example/old") { $0.verification = .challenge }
        // The old address has agreed; the checkpoint that says so is not written yet.
        world.update(key) { state, _ in state.settings.url = "https://receiver.example/new" }
        world.settle()
        #expect(world.status(key) == .pendingVerification)
    }

    @Test("a paused delegate with a new address stays paused, and is verified when it is resumed")
    func pausedElsewhere() throws {
        let world = try World()
        world.answer = echo
        let key = world.register { $0.verification = .challenge }
        world.settle()
        world.update(key) { state, now in state.apply(.paused, now: now) }
        world.update(key) { state, _ in state.settings.url += "new" }
        world.publishAndSettle()
        #expect(world.status(key) == .paused)
        #expect(world.arrivals.isEmpty)
        world.resume(key)
        world.settle()
        #expect(world.status(key) == .active && calls(world).count == 2)
        #expect(world.arrivals(key) == ["e1"])
    }

    // MARK: Test calls

    @Test("a test call runs beside the lane and returns its outcome; it is not logged and does not count as an attempt")
    func testCall() throws {
        let world = try World()
        world.answer = { $0.purpose == .test ? .answered(503, retryAfter: 60) : .success }
        let key = world.register()
        let outcomes = Recorder<Int>()
        let answer: @Sendable (CallbackOutcome?) -> Void = { outcome in
            if case .answered(let status, _)? = outcome?.verdict { outcomes.record(status) }
        }
        let delegate = try #require(world.delegate(key))
        world.process.loops[0].engine.receive(.test(delegate, answer: answer))
        world.settle()
        #expect(outcomes.items == [503])
        #expect(world.callbacks.map(\.event.type) == ["herald.test"])
        #expect(world.contents.attempts.isEmpty && world.contents.events.isEmpty)
        world.publish()
        #expect(world.arrivals(key) == ["e1"])
    }

    @Test("a test call that there was no room for has no outcome")
    func testCallWithoutRoom() throws {
        let world = try World()
        world.answer = { _ in CallbackOutcome(verdict: .failed(.stopped, detail: "no memory"), duration: 0) }
        let key = world.register()
        let delegate = try #require(world.delegate(key))
        let answers = Recorder<Bool>()
        world.process.loops[0].engine.receive(.test(delegate) { answers.record($0 == nil) })
        world.settle()
        #expect(answers.items == [true])
    }

    @Test("a test call of an unknown delegate, or after the stop, returns at once")
    func noTestCall() throws {
        let bench = try EngineBench()
        let answers = Recorder<Bool>()
        bench.engine.receive(.test(WebhookDelegate(7)) { answers.record($0 == nil) })
        bench.set(WebhookDelegate(1))
        bench.engine.receive(.stop(deadline: 0))
        bench.engine.receive(.test(WebhookDelegate(1)) { answers.record($0 == nil) })
        #expect(answers.items == [true, true])
    }

    @Test("test calls take a quarter of the slots, and those of one app leave room for those of another")
    func manyTestCalls() throws {
        let (one, other) = (WebhookDelegate(1), WebhookDelegate(2, app: AppKey(rawValue: 7)))
        let bench = try EngineBench(one, other, capacity: 16)
        let answers = Recorder<Bool>()
        func call(_ delegate: WebhookDelegate) {
            bench.engine.receive(.test(delegate) { answers.record($0 == nil) })
        }
        for _ in 1...4 { call(one) }
        #expect(answers.items == [true] && bench.sender.open.count == 3)
        for _ in 1...2 { call(other) }
        #expect(answers.items == [true, true] && bench.sender.open.count == 4)
        for callback in bench.sender.open { bench.sender.finish(callback.token, .success) }
        bench.sender.poll(nanoseconds: 0) { bench.engine.finished($0, $1) }
        for _ in 1...3 { call(one) }
        #expect(answers.items.count { $0 } == 2 && bench.sender.open.count == 3)
    }
}
