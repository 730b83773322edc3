import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

extension CallbackOutcome {
    fileprivate static var disabling: Self {
        var outcome = Self.answered(500)
        outcome.control = .disable
        return outcome
    }
}

/// The effects of a receiver's responses.
@Suite("Commands of receivers")
struct ReceiverControlTests {
    private static let gone = CallbackOutcome.answered(410)

    private static func outcome(_ status: Int, _ control: CallbackOutcome.Control) -> CallbackOutcome {
        var outcome = CallbackOutcome.answered(status)
        outcome.control = control
        return outcome
    }

    @Test(
        "410 ends a delegate: waiting deliveries are dropped, nothing more is sent, even after a restart, and one event is published"
    )
    func gone() throws {
        let (world, key) = try World.registered { $0.retrySchedule = [10, 10] }
        world.answer = { $0.event.id == "e1" ? .failure : $0.event.id == "e2" ? nil : Self.gone }
        world.publish(3)
        #expect(world.arrivals(key) == ["e1", "e2", "e3"])
        // e2 was under way when e3 was answered 410: it is not tried again.
        world.answer = { _ in .failure }
        world.publishAndSettle()
        #expect(world.status(key) == .gone)
        #expect(world.delegate(key)?.state.statusReason?.contains("410") == true)
        #expect(world.rows(key).map(\.event) == [1, 2, 3])
        #expect(world.rows(key).allSatisfy { $0.state == .dropped })
        #expect(world.announced == ["herald.delegate.gone"])
        for step in 0..<2 {
            world.publish()
            world.advance(seconds: 100_000)
            #expect(world.arrivals(key) == ["e1", "e2", "e3"])
            if step == 0 { try world.crash() }
        }
        #expect(world.announced == ["herald.delegate.gone"])
        #expect(world.contents.lanes.isEmpty)
    }

    @Test("several 410 at once, and concurrent changes, do not reactivate a delegate")
    func goneOnce() throws {
        let (world, key) = try World.registered()
        world.answer = { _ in nil }
        world.publish(4)
        world.answer = { $0.event.id == "e4" ? nil : Self.gone }
        world.run()
        // The checkpoint that tells it is not written yet.
        world.update(key) { state, _ in state.settings.description = "crossing" }
        world.answer = { _ in Self.gone }
        world.publishAndSettle(2)
        #expect(world.arrivals(key).count == 4)
        #expect(world.announced == ["herald.delegate.gone"])
        #expect(world.status(key) == .gone)
    }

    @Test(
        "a response of the old address says nothing about the new one",
        arguments: [CallbackOutcome.answered(410), .disabling, .failure], [false, true])
    func movedAway(response: CallbackOutcome, isHeard: Bool) throws {
        let (world, key) = try World.registered { $0.retrySchedule = [10, 10] }
        let isOld: (Callback) -> Bool = { $0.delegate.settings.url == "https://receiver.example/" }
        world.answer = { isOld($0) ? isHeard ? response : nil : .success }
        world.publish()
        world.publish()
        // If the response is heard before, the checkpoint with the notice is not written yet.
        world.update(key) { state, now in
            let old = state.settings
            state.settings.url = "https://elsewhere.example/"
            state.apply(.settingsChanged(from: old), now: now)
        }
        world.answer = { isOld($0) ? response : .success }
        world.publish()
        world.advance(seconds: 100)
        #expect(world.status(key) == .active)
        #expect(world.delegate(key)?.state.failingSince == nil)
        #expect(world.announced.isEmpty)
        let delivered = world.contents.attempts.filter(\.record.succeeded).map(\.record.event).sorted()
        // A 410 ends its own delivery, and the others only when the delegate is gone.
        #expect(delivered == (isHeard && response.isGone ? [2, 3] : [1, 2, 3]))
    }

    @Test("a gone delegate that is resumed receives events published from then on")
    func resumed() throws {
        let (world, key) = try World.registered()
        world.answer = { _ in Self.gone }
        world.publishAndSettle(2)
        world.publish()
        world.answer = { _ in .success }
        world.resume(key)
        world.publishAndSettle()
        #expect(world.status(key) == .active)
        #expect(world.arrivals(key).suffix(1) == ["e4"])
        #expect(!world.arrivals(key).contains("e3"))
    }

    @Test("after a 410 a delegate has no position, whatever the last open requests get as response")
    func goneAndDisabled() throws {
        let (world, key) = try World.registered()
        world.answer = { $0.event.id == "e1" ? Self.gone : nil }
        world.publishAndSettle(2)
        #expect(world.status(key) == .gone)
        world.answer = { _ in .disabling }
        world.run()
        world.publishAndSettle()
        #expect(world.contents.lanes.isEmpty)
        world.answer = { _ in .success }
        world.resume(key)
        world.publishAndSettle()
        #expect(world.arrivals(key) == ["e1", "e2", "e4"])
        #expect(world.announced == ["herald.delegate.gone"])
    }

    @Test("deliveries after a resume do not end with those that waited in the store at a 410")
    func resumedWithStoredRows() throws {
        let world = try World(waiting: 16)
        let key = world.register { $0.retrySchedule = [3_600, 3_600] }
        let half: (Callback) -> CallbackOutcome? = {
            Int($0.event.id.dropFirst()).map { $0 % 2 == 0 } == true ? .failure : .success
        }
        world.answer = half
        for _ in 0..<20 {
            world.publishAndSettle(10)
        }
        #expect(world.rows(key).count == 100)
        world.answer = { _ in Self.gone }
        world.publish()
        // The rows in the store are ended in several steps, one for each checkpoint.
        world.advance(seconds: 0.15)
        #expect(world.status(key) == .gone)
        #expect(world.rows(key).contains { $0.state == .retrying })
        world.resume(key)
        world.answer = half
        world.publish(10)
        world.advance(seconds: 10)
        #expect(world.rows(key).count { $0.state == .retrying } == 5)
        #expect(world.rows(key).count { $0.state == .dropped } >= 100)
        #expect(!world.announced.contains("herald.delivery.dropped"))
        world.answer = { _ in .success }
        world.advance(seconds: 10_000)
        for event in [202, 204, 206, 208, 210] { #expect(world.arrivals(key).count { $0 == "e\(event)" } == 2) }
        #expect(!world.rows(key).contains { $0.state == .retrying })
    }

    @Test("after a 410 nothing is sent again until the delegate is resumed, and a request that names it is refused")
    func goneAndAskedAgain() throws {
        let (world, key) = try World.registered()
        world.answer = { _ in Self.gone }
        world.publishAndSettle()
        let delegate = try #require(world.delegate(key))
        let named: [DeliveryWrite.Action] = [
            .redeliverEvent(id: "e1", delegateID: delegate.id),
            .redeliver(DeliveryQuery([.dropped], to: delegate)),
            .replay(delegateID: delegate.id, after: 0, until: nil),
        ]
        for action in named {
            #expect(world.manage(action)?.error?.problem == .delegateGone, "\(action)")
            world.settle()
        }
        world.manageAndSettle(.redeliverEvent(id: "e1", delegateID: nil))
        #expect(world.arrivals(key) == ["e1"])
        #expect(world.rows(key).map(\.state) == [.dropped])
        #expect(world.contents.replays.isEmpty)
        world.resume(key)
        world.answer = { _ in .success }
        for action in named { world.manageAndSettle(action) }
        #expect(world.arrivals(key).count >= 2)
        #expect(world.rows(key).isEmpty)
    }

    @Test(
        "webhook-delivery: disable stops a delegate at once, with any status, and loses nothing",
        arguments: [200, 500])
    func disable(status: Int) throws {
        let (world, key) = try World.registered { $0.maxInFlight = 1 }
        world.answer = { $0.event.id == "e2" ? Self.outcome(status, .disable) : .success }
        world.publish(5)
        world.update(key) { state, _ in state.settings.description = "crossing" }
        world.settle()
        #expect(world.arrivals(key) == ["e1", "e2"])
        #expect(world.status(key) == .disabled)
        #expect(world.delegate(key)?.state.statusReason?.contains("webhook-delivery") == true)
        #expect(world.announced == ["herald.delegate.disabled"])
        world.answer = { _ in .success }
        world.advance(seconds: 100_000)
        #expect(world.arrivals(key).count == 2)
        world.resume(key)
        world.advance(seconds: 10)
        let rest = status == 200 ? ["e3", "e4", "e5"] : ["e2", "e3", "e4", "e5"]
        #expect(world.arrivals(key).dropFirst(2).sorted() == rest)
    }

    @Test("a delegate that was paused before the command arrived is not disabled, and no event says so")
    func disableCrossesPause() throws {
        let (world, key) = try World.registered()
        world.answer = { _ in Self.outcome(200, .disable) }
        world.publish()
        world.update(key) { state, now in state.apply(.paused, now: now) }
        world.settle()
        #expect(world.status(key) == .paused)
        #expect(world.announced.isEmpty)
    }

    @Test("webhook-delivery: abort-message ends one delivery, and no other")
    func abort() throws {
        let (world, key) = try World.registered { $0.retrySchedule = [1, 1] }
        world.answer = { $0.event.id == "e1" ? Self.outcome(500, .abortMessage) : .failure }
        world.publish(2)
        world.advance(seconds: 100)
        #expect(world.arrivals(key).count { $0 == "e1" } == 1)
        #expect(world.arrivals(key).count { $0 == "e2" } == 3)
        #expect(world.rows(key).map(\.state) == [.dropped, .exhausted])
        #expect(world.rows(key).map(\.attempts) == [1, 3])
        // Not given up by the schedule, but at the receiver's request: only the other one is announced.
        #expect(world.announced == ["herald.delivery.exhausted"])
    }

    @Test("a delivery that is rejected with Retry-After waits for that time, and the others continue")
    func retryAfter() throws {
        let (world, key) = try World.registered()
        let other = world.register("https://receiver.example/other")
        world.answer = { $0.delegate.key == key ? .answered(429, retryAfter: 120) : .success }
        world.publish()
        world.answer = { _ in .success }
        world.publish(3)
        world.advance(seconds: 119)
        #expect(world.arrivals(key) == ["e1", "e2", "e3", "e4"])
        #expect(world.arrivals(other).count == 4)
        world.advance(seconds: 2)
        #expect(world.arrivals(key) == ["e1", "e2", "e3", "e4", "e1"])
    }

    @Test("a redelivery ends a requested pause: the one request is sent for it, and a rejection begins the next pause")
    func redeliveryInPause() throws {
        let (world, key) = try World.registered()
        let id = try #require(world.delegate(key)?.id)
        world.answer = { _ in .answered(429, retryAfter: 300) }
        world.publish(10)
        world.publish(5)
        #expect(world.arrivals(key).count == 10)
        // More often than pauses may follow each other: those that end early do not count.
        for round in 1...6 {
            world.advance(seconds: 1)
            world.manage(.redeliverEvent(id: "e7", delegateID: id))
            #expect(world.arrivals(key).count == 10 + round && world.arrivals(key).last == "e7")
        }
        #expect(world.delegate(key)?.state.failingSince == nil)
        world.answer = { _ in .success }
        world.advance(seconds: 1)
        world.manage(.redeliverEvent(id: "e3", delegateID: id))
        world.settle()
        #expect(world.arrivals(key).dropFirst(16) == ["e3", "e11", "e12", "e13", "e14", "e15"])
    }

    @Test("a delegate that is paused and resumed does not wait for the end of a requested pause")
    func resumedInPause() throws {
        let (world, key) = try World.registered()
        world.answer = { _ in .answered(429, retryAfter: 300) }
        world.publish(10)
        world.answer = { _ in .success }
        world.publish()
        #expect(world.arrivals(key).count == 10)
        world.update(key) { state, now in state.apply(.paused, now: now) }
        world.resume(key)
        #expect(world.arrivals(key).last == "e11")
    }

    @Test("no more callbacks start per second than the rate limit allows, and a new limit applies at once")
    func rateLimit() throws {
        let (world, key) = try World.registered {
            $0.rateLimit = 4
            $0.maxInFlight = 256
        }
        world.publish(50)
        world.advance(seconds: 5)
        #expect((20...21).contains(world.arrivals(key).count))
        world.update(key) { state, _ in state.settings.rateLimit = 0.01 }
        world.advance(seconds: 150)
        #expect((21...23).contains(world.arrivals(key).count))
        world.update(key) { state, _ in state.settings.rateLimit = nil }
        world.settle()
        #expect(world.arrivals(key).count == 50)
    }

    @Test("after a timeout or a gateway error the next attempt waits at least a minute, whatever the schedule")
    func rest() throws {
        for outcome in [
            CallbackOutcome.failed(.timeout), .answered(502), .answered(504),
        ] {
            let (world, key) = try World.registered { $0.retrySchedule = [1] }
            world.answer = { _ in outcome }
            world.publish()
            world.advance(seconds: 59)
            #expect(world.arrivals(key).count == 1)
            world.advance(seconds: 2)
            #expect(world.arrivals(key).count == 2)
        }
    }

    @Test("an event is sent again to many delegates in steps, once to each")
    func manyRecipients() throws {
        let world = try World()
        let count = 2 * DeliveryWrite.rowsOfStep + 3
        let keys = (0..<count).map { world.register("https://receiver.example/\($0)") }
        world.publishAndSettle()
        guard case .count(let repeated)? = world.manage(.redeliverEvent(id: "e1", delegateID: nil))
        else { throw Unexpected("nothing was repeated") }
        #expect(repeated == count)
        world.settle()
        #expect(keys.allSatisfy { world.arrivals($0) == ["e1", "e1"] })
    }
}
