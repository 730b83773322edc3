import Foundation
import Herald
import HeraldRuntime
import HeraldTestSupport
import Testing

@Suite("Pull delegates of a hub in a process", .timeLimit(.minutes(20)))
struct PulledRunTests {
    private let folder = TemporaryFolder()

    private func makeHub() async throws -> Hub { try await Hub.open(folder: folder.path + "/data") }

    private func publish(_ hub: Hub, _ ids: ClosedRange<Int>) async throws {
        for id in ids {
            var event = NewEvent("order.paid")
            event.id = "order-\(id)"
            try await hub.publish(event)
        }
    }

    @Test("a sequence has each event once, those that failed again, and ends with its task")
    func sequence() async throws {
        let hub = try await makeHub()
        let id = try await hub.webhooks.addPull(events: ["order.*"])
        try await publish(hub, 1...5)
        try await hub.publish(NewEvent("user.left"))

        var attempts: [String: Int] = [:]
        for try await run in hub.webhooks.runs(of: id, max: 2) {
            let leases = try await hub.webhooks.leases(of: id)
            #expect(leases.map(\.id) == [run.id] && leases.map(\.events) == [run.events.count])
            for pulled in run.events { attempts[pulled.event.event.id] = pulled.attempt }
            // Each fails once, and is handed out again at once.
            let failed = run.events.filter { $0.attempt == 1 }.map {
                PulledRun.Failed(id: $0.event.event.id, retryAfter: 0, reason: "not yet")
            }
            let settled = try await run.acknowledge(except: failed)
            #expect(settled.acknowledged == run.events.count - failed.count && settled.retrying == failed.count)
            if attempts.count == 5, attempts.values.allSatisfy({ $0 == 2 }) { break }
        }
        #expect(attempts.keys.sorted() == (1...5).map { "order-\($0)" })
        #expect(try await hub.webhooks.pull(id) == nil)

        let waiting = Task { try await hub.webhooks.runs(of: id).makeAsyncIterator().first() }
        waiting.cancel()
        #expect(try await waiting.value == nil)
        await hub.stop(grace: .zero)
    }

    @Test("new events are in every second run, also while those that failed are due")
    func turns() async throws {
        let hub = try await makeHub()
        let id = try await hub.webhooks.addPull(events: ["order.*"])
        try await publish(hub, 1...3)
        var found: [String] = []
        for _ in 0..<6 {
            let run = try #require(try await hub.webhooks.pull(id, max: 1))
            let ids = run.events.map(\.event.event.id)
            found += ids
            try await run.acknowledge(except: ids.map { PulledRun.Failed(id: $0, retryAfter: 0) })
        }
        #expect(Set(found) == ["order-1", "order-2", "order-3"], "\(found)")
        await hub.stop(grace: .zero)
    }

    @Test("a lease is extended, released, taken back, and over; a seek begins again")
    func leases() async throws {
        let hub = try await makeHub()
        let id = try await hub.webhooks.addPull(events: ["order.*"], isOrdered: true)
        try await publish(hub, 1...3)
        let first = try #require(try await hub.webhooks.pull(id, max: 2))
        #expect(first.events.map(\.event.event.id) == ["order-1", "order-2"] && first.hasMore)
        // In order, nothing else is handed out.
        #expect(try await hub.webhooks.pull(id) == nil)
        try await first.extend(seconds: 600)
        let end = try #require(try await hub.webhooks.leases(of: id).first?.end)
        #expect(end.timeIntervalSinceNow > 500)
        #expect(try await first.release().returned == 2)
        await #expect(throws: HubError.self) { try await first.acknowledge() }

        let second = try #require(try await hub.webhooks.pull(id, max: 1))
        #expect(second.events.map(\.attempt) == [1])
        try await hub.webhooks.endLease(second.id, of: id)
        var order: [String] = []
        while let run = try await hub.webhooks.pull(id) {
            order += run.events.map(\.event.event.id)
            #expect(try await run.acknowledge().acknowledged == run.events.count)
        }
        #expect(order == ["order-1", "order-2", "order-3"])
        try await hub.webhooks.seek(id, to: .event("order-2"))
        let again = try #require(try await hub.webhooks.pull(id))
        #expect(again.events.map(\.event.event.id) == ["order-2", "order-3"])
        await hub.stop(grace: .zero)
    }

    @Test("a sequence that waits ends with its hub, and one that begins after that is empty")
    func stopped() async throws {
        let hub = try await makeHub()
        let id = try await hub.webhooks.addPull(events: ["order.*"])
        let waiting = Task { try await hub.webhooks.runs(of: id).makeAsyncIterator().first() }
        let pulling = Task { try await hub.webhooks.pull(id, wait: 60) }
        await hub.stop(grace: .zero)
        #expect(try await waiting.value == nil)
        let error = await #expect(throws: HubError.self) { _ = try await pulling.value }
        #expect(error?.problem == .stopping)
        #expect(try await hub.webhooks.runs(of: id).makeAsyncIterator().first() == nil)
    }

    /// Holds the writer at an event of the type `gate.closed` until it is opened.
    private final class Gate: EventDelegate {
        let reached = Recorder<String>()
        private let semaphore: HeraldRuntime.Semaphore

        init() throws { semaphore = HeraldRuntime.Semaphore() }

        func published(_ batch: EventBatch) {
            guard batch.events.contains(where: { $0.type == "gate.closed" }) else { return }
            reached.record("gate.closed")
            semaphore.wait()
        }

        func open() { semaphore.signal() }
    }

    /// Publishes, while the writer is held, until the queue is full and the rest waits for room.
    private func fillQueue(of hub: Hub) async throws -> [Task<Void, any Error>] {
        let events = (1...1_000).map { _ in NewEvent("user.left") }
        let filling = (1...21).map { _ in Task { _ = try await hub.publish(events) } }
        try await eventually("the queue is full, and the rest waits for room") {
            hub.intakeDepth.waiting > 0
                && hub.metrics().waitingEvents + 1_000 * hub.intakeDepth.waiting >= 21_000
        }
        return filling
    }

    @Test("pulls and acknowledgements wait for their turn when too much waits for the disk")
    func fullQueue() async throws {
        let hub = try await makeHub()
        let gate = try Gate()
        hub.addDelegate(gate, description: "holds the writer")
        let id = try await hub.webhooks.addPull(events: ["order.*"])
        try await publish(hub, 1...2)
        let first = try #require(try await hub.webhooks.pull(id, max: 1))
        let held = Task { _ = try await hub.publish(NewEvent("gate.closed")) }
        try await gate.reached.first(1)
        let filling = try await fillQueue(of: hub)
        let others = hub.intakeDepth.waiting
        let ending = Task { try await hub.webhooks.endLease(first.id, of: id) }
        try await eventually("the end of the lease waits too") { hub.intakeDepth.waiting == others + 1 }
        ending.cancel()
        let error = await #expect(throws: HubError.self) { try await ending.value }
        #expect(error?.problem == .cancelled)
        let line = hub.intakeDepth.waiting
        let acknowledging = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await first.acknowledge()
        }
        let pulling = Task { try await hub.webhooks.pull(id) }
        try await eventually("both wait too") { hub.intakeDepth.waiting == line + 2 }
        gate.open()
        #expect(try await acknowledging.value.acknowledged == 1)
        #expect(try await pulling.value?.events.map(\.event.event.id) == ["order-2"])
        for task in filling { try await task.value }
        try await held.value
        await hub.stop(grace: .zero)
    }

    @Test("a pull that is cancelled while its lease is written gives its events back")
    func cancelled() async throws {
        let hub = try await makeHub()
        let gate = try Gate()
        hub.addDelegate(gate, description: "holds the writer")
        let id = try await hub.webhooks.addPull(events: ["order.*"])
        try await publish(hub, 1...1)
        let held = Task { _ = try await hub.publish(NewEvent("gate.closed")) }
        try await gate.reached.first(1)
        let filling = try await fillQueue(of: hub)
        let line = hub.intakeDepth.waiting
        let pulling = Task { try await hub.webhooks.pull(id) }
        try await eventually("its lease waits for the writer") { hub.intakeDepth.waiting > line }
        pulling.cancel()
        gate.open()
        #expect(try await pulling.value == nil)
        let next = try #require(try await hub.webhooks.pull(id))
        #expect(next.events.map(\.event.event.id) == ["order-1"] && next.events.map(\.attempt) == [1])
        for task in filling { try await task.value }
        try await held.value
        await hub.stop(grace: .zero)
    }

    @Test("what is not possible is an error that names it")
    func errors() async throws {
        let hub = try await makeHub()
        let id = try await hub.webhooks.addPull()
        await #expect(throws: HubError.self) { try await hub.webhooks.pull(id, max: 0) }
        await #expect(throws: HubError.self) { try await hub.webhooks.pull(id, ackSeconds: 1) }
        await #expect(throws: HubError.self) { try await hub.webhooks.pull(id, wait: 61) }
        await #expect(throws: HubError.self) { try await hub.webhooks.addPull(ackSeconds: 4) }
        await #expect(throws: HubError.self) { try await hub.webhooks.pull("dlg_none") }
        try await publish(hub, 1...1)
        let pulled = try #require(try await hub.webhooks.pull(id))
        await #expect(throws: HubError.self) { try await pulled.acknowledge(except: [.init(id: "order-2")]) }
        await #expect(throws: HubError.self) { try await pulled.extend(seconds: 1) }
        // Nothing has settled it.
        #expect(try await pulled.acknowledge().acknowledged == 1)
        await hub.stop(grace: .zero)
    }
}

extension AsyncIteratorProtocol {
    fileprivate func first() async throws -> Element? {
        var iterator = self
        return try await iterator.next()
    }
}
