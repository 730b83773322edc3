import Delegation
import HeraldJSON
import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Following the log", .timeLimit(.minutes(20)))
struct LogFollowerTests {
    private func events(_ numbers: ClosedRange<LogPosition>) -> [Event] { numbers.map { Event(id: "e\($0)") } }

    /// The received events, checked to be without a gap.
    private struct Told {
        var follower = LogFollower(head: 0)
        var ids: [String] = []

        /// - Parameter pages: the reads that succeed, of two events each.
        mutating func follow(_ own: [Event], head: LogPosition, pages: Int = 0, of log: [Event] = []) -> StoreError? {
            var left = pages
            var batches: [EventBatch] = []
            let before = follower.position
            follower.committed(head: head)
            defer {
                #expect(batches.first.map { $0.first == before + 1 } ?? true)
                #expect(zip(batches, batches.dropFirst()).allSatisfy { $0.last + 1 == $1.first })
                ids += batches.flatMap(\.events).map(\.id)
            }
            do throws(StoreError) {
                try follower.follow(
                    own,
                    read: { after throws(StoreError) in
                        left -= 1
                        if left < 0 { throw .unavailable(reason: "on purpose") }
                        return EventBatch(first: after + 1, events: Array(log.dropFirst(Int(after)).prefix(2)))
                    }, notify: { batches.append($0) })
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("own events are delivered without a read, and earlier events are read first")
    func order() {
        var told = Told()
        #expect(told.follow(events(1...2), head: 2) == nil)
        #expect(told.follow([], head: 2) == nil)
        #expect(told.ids == ["e1", "e2"])
        #expect(told.follow(events(8...8), head: 8, pages: 3, of: events(1...8)) == nil)
        #expect(told.ids == (1...8).map { "e\($0)" } && !told.follower.isBehind)
    }

    @Test("events that cannot be read now are delivered later, each once")
    func later() {
        var told = Told()
        #expect(told.follow(events(5...6), head: 6, pages: 1, of: events(1...6)) == .unavailable(reason: "on purpose"))
        #expect(told.ids == ["e1", "e2"] && told.follower.isBehind)
        #expect(told.follow([], head: 6, pages: 9, of: events(1...6)) == nil)
        #expect(told.ids == (1...6).map { "e\($0)" } && !told.follower.isBehind)
    }

    @Test("a log that lacks events, or has become shorter, is an error")
    func gap() {
        var told = Told()
        #expect(told.follow([], head: 3, pages: 9, of: events(1...2)) != nil)
        #expect(told.ids == ["e1", "e2"])
        var shorter = Told()
        #expect(shorter.follow(events(1...3), head: 3) == nil)
        #expect(shorter.follow(events(1...3), head: 2) != nil)
    }

    @Test("a log that lacks events ends the process, and a read that the store has refused does not")
    func refusedRead() throws {
        let ended = Recorder<StoreError>()
        let hooks = LogWriter.Hooks(
            changed: { _ in }, followed: { _ in }, onDurabilityLost: { ended.record($0) })
        let state = try World().process.writerState
        state.lost(.failed(reason: "cached plan must not change result type (SQLSTATE 0A000)"), hooks)
        state.lost(.unavailable(reason: "on purpose"), hooks)
        #expect(ended.items.isEmpty)
        var told = Told()
        let found = told.follow([], head: 3, pages: 9, of: events(1...2))
        let gap = try #require(found)
        state.lost(gap, hooks)
        #expect(ended.items == [gap])
    }

    // MARK: In a hub

    private final class Listener: EventDelegate {
        let heard = Recorder<String>()
        func published(_ batch: EventBatch) {
            for (index, event) in batch.events.enumerated() {
                heard.record("\(batch.first + LogPosition(index)) \(event.type)")
            }
        }
    }

    private func listen(_ bench: HubBench) -> Listener {
        let listener = Listener()
        bench.hub.addDelegate(listener, description: "test")
        return listener
    }

    @Test("a transaction whose ground has changed is run again, the third time keeping others out")
    func outdated() throws {
        let world = try World()
        // Also runs maintenance.
        world.publish()
        let before = world.store.kinds.items.count
        world.store.fail(.outdated, .outdated)
        world.publish()
        let kinds = world.store.kinds.items.dropFirst(before).filter { $0 != .recording }
        #expect(kinds == [.publishing, .publishing, .deciding])
        #expect(world.contents.head == 2 && world.process.writer.counters.failures.load(ordering: .relaxed) == 0)
    }

    @Test("a deciding transaction that a deadlock has ended is run again, up to ten times")
    func deadlock() throws {
        let world = try World()
        let failures = { world.process.writer.counters.failures.load(ordering: .relaxed) }
        world.store.fail(.outdated, .outdated, .outdated, .outdated)
        world.publish()
        #expect(world.contents.head == 1 && failures() == 0)
        world.store.fail(Array(repeating: .outdated, count: 11))
        world.publish()
        #expect(failures() == 1)
        world.publish()
        #expect(world.contents.head >= 2)
    }

    @Test("a commit without a response is written, accepted and delivered once")
    func unknown() async throws {
        let bench = try HubBench()
        let listener = listen(bench)
        let lost = StoreError.unknown(reason: "on purpose")
        var errors: [FieldError] = []
        // Without an id, as most clients post.
        let draft = EventInput.read(
            try JSONDocument(parsing: #"{"type": "a.b"}"#).root,
            .init(app: .default, now: bench.hub.clock.wall(), ids: bench.hub.ids), &errors)
        bench.store.fail(lost)
        #expect(try await bench.hub.publish([#require(draft)]).map(\.disposition) == [.accepted])
        bench.store.fail(lost)
        #expect(try await bench.post("a.c", id: "mine").event.id == "mine")
        #expect(listener.heard.items == ["1 a.b", "2 a.c"])
        #expect(bench.store.memory.read { $0.head } == 2)

        bench.store.fail(lost, lost)
        await #expect(throws: HubError.self) { try await bench.post("a.d") }
        #expect(try await bench.post("a.e").disposition == .accepted)
        #expect(listener.heard.items == ["1 a.b", "2 a.c", "3 a.d", "4 a.e"], "the refused one is in the log")
        #expect(bench.hub.committed.usage.total(of: .default).events == 4)
        await bench.stop()
    }

    @Test("a commit without a response, whose second run fails, is refused as one that may be written")
    func unknownAndUnavailable() async throws {
        final class Book: StorageObserver {
            let errors = Recorder<StoreError>()
            func storageChanged(_ change: StorageHealth.Change) {
                if case .failed(_, let error) = change { errors.record(error) }
            }
        }
        let bench = try HubBench()
        let book = Book()
        bench.hub.storage.observers.addDelegate(book)
        let lost = StoreError.unknown(reason: "on purpose")
        bench.store.fail(lost, .unavailable(reason: "on purpose"))
        let result = await bench.publish([EventDraft(event: Event("a.b", id: "mine", data: "{}"), mayExist: true)])
        guard case .refused(.store(let error)) = result else { throw Unexpected("\(result)") }
        #expect(error == lost)
        #expect(book.errors.items == [.unavailable(reason: "on purpose")], "the log says why it fails now")
        #expect(bench.store.memory.read { $0.head } == 1)
        #expect(try await bench.post("a.b", id: "mine").disposition == .existed)
        await bench.stop()
    }

    @Test("a hub notifies its delegates of events of another hub before its own later events")
    func others() async throws {
        let memory = MemoryStore()
        let benches = try (0..<2).map { _ in try HubBench(store: RefusingStore(memory)) }
        let listeners = benches.map(listen)
        for number in 1...40 {
            _ = try await benches[number * number % 7 % 2].post("a.n\(number)")
        }
        let twice = try await (benches[0].post("a.b", id: "same"), benches[1].post("a.b", id: "same"))
        #expect((twice.0.disposition, twice.1.disposition) == (.accepted, .existed))
        for bench in benches { _ = try await bench.post("a.end") }
        let log = (1...40).map { "\($0) a.n\($0)" } + ["41 a.b", "42 a.end", "43 a.end"]
        #expect(listeners[1].heard.items == log)
        // The other one hears of the last event when something else of its own is committed.
        #expect([42, 43].contains(listeners[0].heard.items.count) && log.starts(with: listeners[0].heard.items))
        #expect(benches[1].hub.committed.usage.total(of: .default).events == 43)
        for bench in benches { await bench.stop() }
    }

    @Test("hubs that publish to one log at once, with the same ids, publish each once")
    func together() async throws {
        let memory = MemoryStore()
        let benches = try (0..<3).map { _ in try HubBench(store: RefusingStore(memory)) }
        let listeners = benches.map(listen)
        var accepted = 0
        for round in 1...20 {
            let dispositions = try await withThrowingTaskGroup(of: PublishedEvent.Disposition.self) { group in
                for bench in benches {
                    for number in 1...4 {
                        group.addTask { try await bench.post("a.b", id: "e\(round)-\(number)").disposition }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            accepted += dispositions.count { $0 == .accepted }
        }
        #expect(accepted == 80 && memory.read { $0.head } == 80)
        for (bench, listener) in zip(benches, listeners) {
            _ = try await bench.post("a.end")
            #expect(Set(listener.heard.items).count == listener.heard.items.count)
            #expect(listener.heard.items.count >= 81)
            await bench.stop()
        }
    }
}
