import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Writes that wait for room in the queue", .timeLimit(.minutes(20)))
struct WaitingWritesTests {
    /// A hub whose queue takes three events, and whose writer is held at the first one.
    private struct HeldHub: Sendable {
        let bench: HubBench
        let gate = Gate()

        init() async throws {
            var configuration = Hub.Configuration()
            configuration.maxWaitingEvents = 3
            bench = try HubBench(configuration: configuration)
            bench.hub.addDelegate(gate, description: "holds the writer")
            let first = publish("first")
            try await gate.reached.first(1)
            // The queue is full.
            for number in 1...3 { fill("q\(number)") }
            gate.first = first
        }

        /// As a request does, which is refused if there is no room.
        func fill(_ id: String) {
            let event = Event("a.x", id: id)
            bench.hub.publish(
                Publication(drafts: [EventDraft(event: event, mayExist: false)]) { [gate] result in
                    if case .refused(let refusal) = result { gate.refusals.record("\(id) \(refusal)") }
                })
        }

        /// As an app does.
        func publish(_ id: String) -> Task<Void, any Error> {
            Task { [hub = bench.hub] in
                _ = try await hub.publish([EventDraft(event: Event("a.x", id: id), mayExist: false)])
            }
        }

        /// Waits until so many writes wait for room.
        func wait(forLine count: Int) async throws {
            try await eventually("\(count) wait") { [hub = bench.hub] in hub.intakeDepth.waiting == count }
        }

        var published: [String] { bench.hub.recentEvents(after: 0, limit: 100)?.events.map(\.id) ?? [] }
    }

    /// Holds the writer at the first batch until it is opened.
    private final class Gate: EventDelegate {
        let reached = Recorder<LogPosition>()
        let refusals = Recorder<String>()
        private let held = Mutex<Task<Void, any Error>?>(nil)
        private let isOpen = Atomic(false)
        private let opening = Semaphore()

        var first: Task<Void, any Error>? {
            get { held.withLock { $0 } }
            set { held.withLock { $0 = newValue } }
        }

        func published(_ batch: EventBatch) {
            if isOpen.load(ordering: .relaxed) { return }
            reached.record(batch.first)
            opening.wait()
        }

        func open() {
            isOpen.store(true, ordering: .relaxed)
            opening.signal()
        }
    }

    @Test("are done in their turn, and none is refused")
    func turns() async throws {
        let held = try await HeldHub()
        var tasks: [Task<Void, any Error>] = []
        for number in 1...8 {
            tasks.append(held.publish("w\(number)"))
            try await held.wait(forLine: number)
        }
        // A request without a ticket does not overtake them.
        held.fill("late")
        #expect(held.gate.refusals.items.count == 1)
        held.gate.open()
        for task in tasks { try await task.value }
        #expect(held.published == ["first", "q1", "q2", "q3"] + (1...8).map { "w\($0)" })
        #expect(held.bench.hub.intakeDepth.waiting == 0)
        await held.bench.stop()
    }

    @Test("a caller's loop completes what one transaction has published, with one wake-up")
    func callers() async throws {
        let bench = try HubBench()
        let gate = Gate()
        bench.hub.addDelegate(gate, description: "holds the writer")
        let first = Task { [hub = bench.hub] in
            _ = try await hub.publish([EventDraft(event: Event("a.x", id: "first"), mayExist: false)])
        }
        try await gate.reached.first(1)
        let (one, other) = (Caller(), Caller())
        let completed = Recorder<String>()
        for (id, caller) in [("1", one), ("2", one), ("3", nil), ("4", other), ("5", one)] {
            bench.hub.publish(
                Publication(drafts: [EventDraft(event: Event("a.x", id: id), mayExist: false)], caller: caller) {
                    result in
                    if case .done(let posted) = result { completed.record(posted.map(\.event.id).joined()) }
                })
        }
        gate.open()
        try await first.value
        try await eventually("all are handed over") { one.posted.count + other.posted.count == 3 }
        // Without a caller it was completed by the writer.
        #expect(completed.items == ["3"])
        other.run()
        one.run()
        #expect(completed.items == ["3", "4", "1", "2", "5"])
        await bench.stop()
    }

    /// Runs what it was given when the test says so.
    private final class Caller: CallerLoop {
        private let bodies = Mutex<[@Sendable () -> Void]>([])
        var posted: [@Sendable () -> Void] { bodies.withLock { $0 } }
        func post(_ body: @escaping @Sendable () -> Void) { bodies.withLock { $0.append(body) } }
        func run() { for body in posted { body() } }
    }

    @Test("a change of a webhook waits like an event")
    func commands() async throws {
        let held = try await HeldHub()
        let change = Task { [hub = held.bench.hub] in
            await hub.withTicket {
                (ticket, completion: @escaping @Sendable (WriteResult<RegistryWrite.Outcome>) -> Void) in
                let registration = RegistryWrite.Registration(settings: .made("https://a.example/"), secret: .test)
                hub.submit(RegistryWrite(action: .register(registration), completion: completion), ticket)
            }
        }
        try await held.wait(forLine: 1)
        held.gate.open()
        guard case .done(.registered) = await change.value else { throw Unexpected("it was not registered") }
        await held.bench.stop()
    }

    @Test("are not done when their task is cancelled, whether they wait for room or for the writer")
    func cancellation() async throws {
        let held = try await HeldHub()
        let (kept, inLine) = (held.publish("kept"), held.publish("in-line"))
        try await held.wait(forLine: 2)
        inLine.cancel()
        // The task gets its answer while the writer is still held.
        await #expect(throws: HubError.self) { try await inLine.value }
        held.gate.open()
        try await kept.value
        #expect(!held.published.contains("in-line") && held.published.contains("kept"))

        let early = Task { [hub = held.bench.hub] in
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await hub.publish([EventDraft(event: Event("a.x", id: "early"), mayExist: false)])
        }
        await #expect(throws: HubError.self) { try await early.value }
        #expect(!held.published.contains("early"))
        await held.bench.stop()
    }

    @Test("one that has room can be withdrawn until the writer takes it")
    func withdrawn() throws {
        let intake = Intake(maxEvents: 10)
        let answers = Recorder<String>()
        func publication(_ id: String, _ ticket: WriteTicket?) -> Publication {
            Publication(drafts: [EventDraft(event: Event("a.x", id: id), mayExist: false)], ticket: ticket) { result in
                if case .refused(.cancelled) = result { answers.record("\(id) cancelled") }
            }
        }
        let tickets = (1...3).map { _ in WriteTicket() }
        for (number, ticket) in tickets.enumerated() {
            #expect(intake.submit(publication("e\(number)", ticket)) == nil)
        }
        intake.withdraw(tickets[1])
        #expect(answers.items == ["e1 cancelled"])
        let taken = try #require(intake.take())
        #expect(taken.count == 2)
        intake.withdraw(tickets[0])
        #expect(answers.items == ["e1 cancelled"])
        // Nothing but withdrawn ones: the writer continues with what comes after them.
        let last = WriteTicket()
        #expect(intake.submit(publication("gone", last)) == nil)
        intake.withdraw(last)
        #expect(intake.submit(publication("e4", nil)) == nil)
        #expect(intake.take()?.count == 1)
        #expect(intake.depth.events == 0 && intake.depth.bytes == 0)
    }

    @Test("a command that is withdrawn while it is submitted completes once")
    func commandWithdrawn() throws {
        let intake = Intake(maxEvents: 10)
        for _ in 1...2_000 {
            let answers = Recorder<String>()
            let ticket = WriteTicket()
            let command = RegistryWrite(action: .remove(id: "dlg_1", ifVersion: nil)) { _ in answers.record("refused") }
            let refusal = Thread.together(
                name: "withdraw", { intake.withdraw(ticket) }, { intake.submit(command, ticket) }
            ).own
            if let refusal { command.refuse(refusal) }
            let taken = try #require(intake.take(milliseconds: 0))
            #expect(answers.items.count + taken.count == 1)
        }
    }

    @Test("withdrawn ones take no more memory than those that still wait")
    func memory() throws {
        let intake = Intake(maxEvents: 1)
        func submit(_ ticket: WriteTicket?) -> HubError? {
            intake.submit(
                Publication(drafts: [EventDraft(event: Event("a.x"), mayExist: false)], ticket: ticket) { _ in })
        }
        #expect(submit(nil) == nil)
        let staying = (1...5).map { _ in WriteTicket() }
        for ticket in staying { #expect(submit(ticket) == nil) }
        for _ in 1...1_000 {
            let ticket = WriteTicket()
            #expect(submit(ticket) == nil)
            intake.withdraw(ticket)
            #expect(intake.depth.waiting <= 2 * staying.count + 2)
        }
        // Each commit makes room for the next one.
        for _ in 0...staying.count { #expect(intake.take()?.count == 1) }
        #expect(intake.depth.waiting == 0)
    }

    @Test("are refused when the hub stops, and nothing of them is published")
    func stop() async throws {
        let held = try await HeldHub()
        let waiting = held.publish("waiting")
        try await held.wait(forLine: 1)
        held.bench.hub.refusePublications()
        let refusal = await #expect(throws: HubError.self) { try await waiting.value }
        guard case .stopping = refusal else { throw Unexpected("refused as \(String(describing: refusal))") }
        held.gate.open()
        await held.bench.stop()
        #expect(held.published == ["first", "q1", "q2", "q3"])
    }
}
