import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Delivery loop", .timeLimit(.minutes(20)))
struct DeliveryLoopTests {
    /// A sender that never sleeps: it notes when it was asked to without anyone left to wake it.
    private final class SleeplessSender: CallbackSender {
        private struct State {
            var open: [Int] = []
            var wakes = 0
            var polls: [@Sendable (SleeplessSender) -> Bool] = []
            var sleeps = 0
            var isClosed = false
            var wakesAfterClose = 0
        }

        let capacity = 10
        private let state = Mutex(State())

        /// Sets the steps of the next polls, one after the other. Each returns whether the open attempts end in it.
        func script(_ polls: [@Sendable (SleeplessSender) -> Bool]) { state.withLock { $0.polls = polls } }
        /// Since the last poll.
        var wakes: Int { state.withLock { $0.wakes } }
        var sleeps: Int { state.withLock { $0.sleeps } }
        var wakesAfterClose: Int { state.withLock { $0.wakesAfterClose } }

        func abort(_ shards: Shards) {}

        func start(_ callback: Callback) { state.withLock { $0.open.append(callback.token) } }

        func poll(nanoseconds: Int64?, finished: (Int, CallbackOutcome) -> Void) {
            let script = state.withLock { $0.polls.isEmpty ? nil : $0.polls.removeFirst() }
            let ends = script.map { $0(self) } ?? false
            let ended = state.withLock { state in
                let ended = ends ? state.open : []
                if ends { state.open = [] }
                // With a script, it is a step of the test; after it, a sleep here never ends.
                if script == nil && state.wakes == 0 && nanoseconds == nil { state.sleeps += 1 }
                state.wakes = 0
                return ended
            }
            for token in ended { finished(token, .success) }
        }

        func wake() {
            state.withLock { state in
                state.wakes += 1
                if state.isClosed { state.wakesAfterClose += 1 }
            }
        }

        func close(finished: (Int, CallbackOutcome) -> Void) { state.withLock { $0.isClosed = true } }
    }

    /// Runs a loop until it is stopped and flushed, and returns the attempts of its checkpoints.
    private func attempts(
        of loop: DeliveryLoop, runMaintenance: (@Sendable () -> Void)? = nil
    ) async throws -> [AttemptRecord] {
        let checkpoints = Recorder<Checkpoint>()
        try loop.start(
            name: "test", settled: 0, lanes: [],
            services: .init(
                readPage: { _, answer in answer(nil) }, readRows: { _, answer in answer(nil) },
                submit: { checkpoint, answer in
                    checkpoints.record(checkpoint)
                    answer(true)
                }, makeID: { "evt_call" }, runMaintenance: runMaintenance))
        await offPool {
            loop.waitUntilFlushed()
            loop.close()
        }
        return checkpoints.items.flatMap(\.attempts)
    }

    @Test("the response to the last checkpoint wakes the loop, even if the last attempt used another wakeup")
    func lastCheckpoint() async throws {
        let sender = SleeplessSender()
        let clock = ManualClock()
        let recentEvents = RecentEvents(head: 0)
        let loop = DeliveryLoop(sender: sender, recentEvents: recentEvents, clock: clock.clock)
        sender.script([
            { _ in
                loop.post(.set(WebhookDelegate(1)))
                recentEvents.published(EventBatch(first: 1, events: [Event("a.x", id: "e1")]))
                loop.published(EventBatch(first: 1, events: []))
                return false
            },
            { _ in
                loop.stop(deadline: .max)
                return false
            },
            { _ in
                loop.post(.set(WebhookDelegate(2)))
                return true
            },
        ])
        let attempts = try await attempts(of: loop)
        #expect(attempts.map(\.event) == [1])
        #expect(sender.sleeps == 0)
    }

    @Test("an event that is published after a delegate was removed is not sent to it, however the loop is held up")
    func removal() async throws {
        let sender = SleeplessSender()
        let clock = ManualClock()
        let recentEvents = RecentEvents(head: 0)
        let loop = DeliveryLoop(sender: sender, recentEvents: recentEvents, clock: clock.clock)
        for key: DelegateKey in 1...2 { loop.post(.set(WebhookDelegate(key))) }
        sender.script([
            { _ in
                clock.advance(nanoseconds: DeliveryEngine.maintenanceInterval)
                return false
            },
            { _ in false },
            { _ in
                loop.stop(deadline: .max)
                return true
            },
            { _ in true },
        ])
        // In the middle of a turn: its messages have been read, its events have not.
        let attempts = try await attempts(of: loop) {
            loop.post(.remove(1))
            recentEvents.published(EventBatch(first: 1, events: [Event("a.x", id: "e1")]))
            loop.published(EventBatch(first: 1, events: []))
        }
        #expect(attempts.map(\.delegate) == [2])
    }

    @Test("a loop without delegates is woken once for many events, and at once when a request waits for one")
    func idleLoop() throws {
        func batch(_ count: Int) -> EventBatch {
            let event = Event(id: "e", type: "a.x", subject: nil, time: 0, data: "null".utf8)
            return EventBatch(first: 1, events: Array(repeating: event, count: count))
        }
        let sender = SleeplessSender()
        let loop = DeliveryLoop(sender: sender, recentEvents: RecentEvents(head: 0), clock: ManualClock().clock)
        for _ in 1..<DeliveryEngine.turnBudget { loop.published(batch(1)) }
        #expect(sender.wakes == 0)
        loop.published(batch(1))
        #expect(sender.wakes == 1)

        let watching = SleeplessSender()
        let recentEvents = RecentEvents(head: 0)
        let watched = DeliveryLoop(sender: watching, recentEvents: recentEvents, clock: ManualClock().clock)
        recentEvents.watch([1: DeliveryWatch(events: 1, routers: 1) { _ in }])
        watched.published(batch(1))
        #expect(watching.wakes == 1)
    }

    @Test(
        "a loop whose only delegate is paused is woken once for many events, and sends all of them when it is resumed")
    func pausedDelegate() async throws {
        let sender = SleeplessSender()
        let recentEvents = RecentEvents(head: 0)
        let loop = DeliveryLoop(sender: sender, recentEvents: recentEvents, clock: ManualClock().clock)
        let wakes = Recorder<Int>()
        let publish: @Sendable (LogPosition) -> Void = { sequence in
            let batch = EventBatch(first: sequence, events: [Event("a.x", id: "e\(sequence)")])
            recentEvents.published(batch)
            loop.published(batch)
            wakes.record(sender.wakes)
        }
        loop.post(.set(WebhookDelegate(1, status: .paused)))
        sender.script(
            [
                { _ in false },
                { _ in
                    for sequence in 1..<LogPosition(DeliveryEngine.turnBudget) { publish(sequence) }
                    loop.post(.set(WebhookDelegate(1, version: 2)))
                    return false
                },
            ] + Array(repeating: { _ in true }, count: 200) + [
                { _ in
                    publish(LogPosition(DeliveryEngine.turnBudget))
                    return false
                },
                { _ in
                    loop.stop(deadline: .max)
                    return true
                },
            ])
        let attempts = try await attempts(of: loop)
        #expect(wakes.items == Array(repeating: 0, count: DeliveryEngine.turnBudget - 1) + [1])
        #expect(attempts.map(\.event).sorted() == Array(1...LogPosition(DeliveryEngine.turnBudget)))
        #expect(sender.sleeps == 0)
    }

    @Test("a closed sender is never woken, however busy the writer is")
    func closing() async throws {
        for _ in 0..<10 {
            let sender = SleeplessSender()
            let hub = try Hub(store: MemoryStore(), onDurabilityLost: { _ in }, makeSender: { sender })
            for number in 0..<2_000 {
                let event = Event("a.x", id: "e\(number)")
                hub.publish(Publication(drafts: [EventDraft(event: event, mayExist: false)]) { _ in })
            }
            hub.submit(RegistryWrite(action: .register(.init(settings: .made(), secret: .test))) { _ in })
            await offPool { hub.stop(grace: 0) }
            #expect(sender.wakesAfterClose == 0)
        }
    }

    @Test("a sender in memory completes callbacks at once, later, by hand, and when it is closed")
    func memorySender() throws {
        let clock = ManualClock()
        let sender = try MemorySender(clock: clock.clock) { callback in
            switch callback.event.id {
            case "now": .now(.success)
            case "later": .after(nanoseconds: 50, .failure)
            default: .manual
            }
        }
        var ended: [String] = []
        func poll() {
            sender.poll(nanoseconds: 0) { token, outcome in ended.append("\(token) \(outcome.isSuccess)") }
        }
        for (token, id) in ["now", "later", "manual", "manual"].enumerated() {
            sender.start(
                Callback(token: token, delegate: WebhookDelegate(1), event: Event("a", id: id), attempt: 1))
        }
        poll()
        #expect(ended == ["0 true"])
        #expect(sender.open.map(\.token) == [1, 2, 3])
        poll()
        clock.advance(nanoseconds: 50)
        #expect(sender.finish(2, .success))
        #expect(!sender.finish(2, .success))
        poll()
        #expect(ended.sorted() == ["0 true", "1 false", "2 true"])
        sender.wake()
        sender.poll(nanoseconds: nil) { _, _ in Issue.record("nothing has ended") }
        sender.close { token, outcome in
            ended.append("\(token)")
            if case .failed(.stopped, _) = outcome.verdict { return }
            Issue.record("not stopped: \(outcome)")
        }
        #expect(ended.last == "3" && ended.count == 4)
    }
}
