import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Changes of the status of delegates become events and changes of the registry, each once, in one transaction.
@Suite("Notices")
struct NoticeTests {
    private func submit(_ world: World, _ notices: [DeliveryNotice.Kind], of key: DelegateKey) {
        submit(world, notices.map { DeliveryNotice(key, $0) })
    }

    private func submit(_ world: World, _ notices: [DeliveryNotice]) {
        var checkpoint = Checkpoint()
        checkpoint.notices = notices
        world.process.unanswered += 1
        world.process.intake.submit(checkpoint) { [process = world.process!] _ in process.unanswered -= 1 }
        world.run()
    }

    private func data(_ event: Event) throws -> String {
        String(decoding: event.data, as: UTF8.self)
    }

    @Test("each notice is published once, with its data, however often it is reported")
    func once() throws {
        let (world, key) = try World.registered()
        let failing = DeliveryNotice.Kind.failing(since: 1_760_000_000_000, reason: "status 500")
        submit(world, [failing, failing, .recovered, .recovered, failing], of: key)
        submit(world, [failing, .disabled(reason: "why"), .disabled(reason: "why again")], of: key)
        submit(world, [.disabled(reason: "once more"), .gone, .gone], of: key)
        #expect(
            world.announced == [
                "herald.delegate.failing", "herald.delegate.recovered", "herald.delegate.failing",
                "herald.delegate.disabled", "herald.delegate.gone",
            ])
        let id = try #require(world.delegate(key)?.id)
        #expect(world.announcements.allSatisfy { $0.subject == id })
        let url = #""delegate":"\#(id)","url":"https://receiver.example/""#
        #expect(
            try world.announcements.map(data) == [
                "{\(url),\"since\":\"2025-10-09T08:53:20.000Z\",\"reason\":\"status 500\"}",
                "{\(url),\"failing_since\":\"2025-10-09T08:53:20.000Z\"}",
                "{\(url),\"since\":\"2025-10-09T08:53:20.000Z\",\"reason\":\"status 500\"}",
                "{\(url),\"reason\":\"why\"}", "{\(url)}",
            ])
    }

    @Test("the registry and its store change in the transaction of the event")
    func atomic() throws {
        let (world, key) = try World.registered()
        world.store.refuse(true)
        submit(world, [.disabled(reason: "why")], of: key)
        #expect(world.status(key) == .active && world.contents.events.isEmpty)
        world.store.refuse(false)
        submit(world, [.disabled(reason: "why")], of: key)
        #expect(world.status(key) == .disabled)
        #expect(world.contents.delegates[key]?.status == .disabled)
        #expect(world.contents.delegates[key]?.version == 2)
        #expect(world.announced.count == 1)
    }

    @Test("failing is an observation and does not change the delegate's version")
    func version() throws {
        let (world, key) = try World.registered()
        submit(world, [.failing(since: 5, reason: "")], of: key)
        #expect(world.contents.delegates[key]?.state.failingSince == 5)
        #expect(world.delegate(key)?.version == 1)
    }

    @Test("notices about removed delegates are ignored")
    func removed() throws {
        let (world, key) = try World.registered { $0.leaseSeconds = 10 }
        world.clock.advance(seconds: 11)
        let failing = DeliveryNotice.Kind.failing(since: 5, reason: "")
        submit(world, [.leaseEnded, failing, .leaseEnded, .gone], of: key)
        submit(world, [failing, .gone], of: key)
        #expect(world.announced == ["herald.delegate.expired"])
        #expect(world.contents.delegates.isEmpty)
        #expect(world.process.writer.counters.failures.load(ordering: .relaxed) == 0)
    }

    @Test("delegates whose leases end at the same time are removed in several transactions, each announced once")
    func manyLeases() throws {
        let world = try World()
        let keys = (1...40).map { number in
            world.register("https://receiver.example/\(number)") { $0.leaseSeconds = 10 }
        }
        world.clock.advance(seconds: 11)
        let seen = Recorder<Int>()
        world.store.duringTransaction.withLock { observer in
            observer = { [memory = world.store.memory] in seen.record(memory.read { $0.delegates.count }) }
        }
        submit(world, keys.map { DeliveryNotice($0, .leaseEnded) })
        world.settle()
        #expect(world.contents.delegates.isEmpty)
        #expect(world.announced == Array(repeating: "herald.delegate.expired", count: 40))
        let steps = zip(seen.items, seen.items.dropFirst() + [0]).map { $0 - $1 }
        #expect(steps.allSatisfy { $0 <= WriteContext.removedDelegates }, "\(steps)")
    }

    @Test("exhausted deliveries and missed events are announced each time")
    func deliveries() throws {
        let (world, key) = try World.registered()
        submit(
            world,
            [
                .exhausted(event: 1, eventID: "e1", eventType: "a.x", attempts: 3),
                .exhausted(event: 2, eventID: "e2", eventType: "a.x", attempts: 3), .fellBehind(events: 6, total: 9),
            ], of: key)
        #expect(
            world.announced == [
                "herald.delivery.exhausted", "herald.delivery.exhausted", "herald.delivery.dropped",
            ])
        #expect(try data(world.announcements[0]).contains(#""event":"e1","event_type":"a.x","attempts":3"#))
        #expect(try data(world.announcements[2]).contains(#""events_at_most":6,"total_at_most":9"#))
    }

    @Test("only delegates that name them receive the service's own events, and their failure is not announced in turn")
    func told() throws {
        let world = try World()
        let all = world.register("https://receiver.example/all")
        let named = world.register("https://receiver.example/named") {
            $0.events = [.prefix("herald.")]
            $0.retrySchedule = []
        }
        world.answer = { $0.delegate.key == named ? .failure : .success }
        submit(world, [.failing(since: 5, reason: ""), .recovered], of: all)
        world.settle()
        #expect(world.arrivals(all).isEmpty)
        #expect(world.callbacks.map(\.event.type) == ["herald.delegate.failing", "herald.delegate.recovered"])
        #expect(world.announced.count == 2)
    }
}
