import Delegation
import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Live streams", .timeLimit(.minutes(20)))
struct EventStreamsTests {
    private func run(
        recentEvents: Int = 16_384, _ body: (HubBench, EventStreams, QueueThread) async throws -> Void
    ) async throws {
        var configuration = Hub.Configuration()
        configuration.memory.maxRecentEvents = recentEvents
        let bench = try HubBench(configuration: configuration)
        try await withStreams(of: bench, EventStreams(hub: bench.hub, format: .lines { $0.id }), body)
    }

    private func client(
        _ streams: EventStreams, _ thread: QueueThread, _ interest: EventSelection = EventSelection(), seed: UInt64
    ) -> FickleClient<EventLog> {
        FickleClient(streams, thread, interest, seed: seed) { id in
            { reader throws(StoreError) in
                if id == "earliest" { return StreamPlace(try reader.firstEvent() - 1, id: id) }
                if let place = LogPosition(id) { return StreamPlace(place) }
                return try reader.event(app: interest.app, id: id).map { StreamPlace($0.sequence, id: id) }
            }
        }
    }

    @Test(
        "clients that read slowly and lose their connection at any moment get every event once, in order",
        arguments: [(1, 16_384), (2, 16_384), (3, 8), (4, 8), (5, 64)] as [(UInt64, Int)])
    func reconnecting(seed: UInt64, recentEvents: Int) async throws {
        try await run(recentEvents: recentEvents) { bench, streams, thread in
            for _ in 0..<20 { _ = try await bench.post("before.them") }
            let interest = EventSelection(events: [.prefix("a.")])
            let clients = (0..<8).map { client(streams, thread, interest, seed: seed * 100 + $0) }
            for client in clients { client.connect() }
            try await eventually("all have begun") { clients.allSatisfy { !$0.lines.items.isEmpty } }
            var wanted: [String] = []
            for number in 0..<400 {
                let id = "e\(seed)-\(number)"
                _ = try await bench.post(number % 3 == 0 ? "b.c" : "a.b", id: id)
                if number % 3 != 0 { wanted.append(id) }
            }
            let expected = wanted
            try await eventually("all were told everything") {
                clients.allSatisfy { $0.told.count >= expected.count }
            }
            for client in clients {
                #expect(client.told == expected)
                #expect(!client.lines.items.contains { $0.hasPrefix("lost") || $0.hasPrefix("gap") })
                client.leave()
            }
            try await eventually("no client is connected") { streams.all.isEmpty }
        }
    }

    @Test("a stream that meets a row that cannot be read as it begins reports it")
    func unreadable() async throws {
        final class Book: StorageObserver {
            let changes = Recorder<String>()
            func storageChanged(_ change: StorageHealth.Change) { changes.record("\(change)") }
        }
        try await run { bench, streams, thread in
            let book = Book()
            bench.hub.storage.observers.addDelegate(book)
            let client = FickleClient<EventLog>(streams, thread, EventSelection(), seed: 1) { _ in
                { _ throws(StoreError) in throw .unreadable(reason: "a list in it is malformed") }
            }
            client.connect(from: "e1")
            try await eventually("it is reported") { book.changes.items.contains { $0.contains("unreadable") } }
            client.leave()
        }
    }

    @Test("a page names the apps whose streams it is for")
    func apps() {
        let other = AppKey(rawValue: 2)
        let events = [other, .default, other].enumerated().map { Event("a.x", id: "e\($0)", app: $1) }
        let page = EventBatch(first: 1, events: events)
        #expect(page.apps == [.default, other])
        #expect(page.rest(after: 2).apps == [other])
    }

    @Test("a content filter that costs much examines a part of a page at a time")
    func expensiveFilters() throws {
        let expensive = try ExpensiveFilter()
        let contents = [expensive.matching, expensive.data, expensive.data, expensive.data, expensive.matching]
        let page = EventBatch(first: 1, events: contents.map { Event("a.x", data: $0) })
        let interest = EventSelection(filter: expensive.filter)
        let part = StreamPieces(page, interest, maxSteps: expensive.steps * 3 / 2) { _ in [1] }
        #expect(part.isCutOff && part.through == 3 && part.pieces.map(\.bytes) == [[1]])
        #expect(part.pieces.map(\.through) == [3])
        let rest = StreamPieces(page.rest(after: 3), interest, maxSteps: 400_000) { _ in [2] }
        #expect(!rest.isCutOff && rest.through == 5 && rest.pieces.map(\.bytes) == [[2]])
        // Without a filter, no steps are taken.
        let all = StreamPieces(page, EventSelection(), maxSteps: 0) { _ in [3] }
        #expect(all.steps == 0 && !all.isCutOff && all.through == 5)
    }

    @Test("from the earliest on, and after an id that is not in the log")
    func beginnings() async throws {
        try await run(recentEvents: 4) { bench, streams, thread in
            for number in 0..<600 { _ = try await bench.post("a.b", id: "e\(number)") }
            let earliest = client(streams, thread, seed: 7)
            earliest.connect(from: "earliest")
            try await eventually("it was told everything") { earliest.told.count >= 600 }
            #expect(earliest.told == (0..<600).map { "e\($0)" })
            #expect(earliest.lines.items.first == "after earliest")

            let lost = client(streams, thread, seed: 8)
            lost.connect(from: "nobody-knows")
            try await eventually("it has begun") { !lost.lines.items.isEmpty }
            #expect(lost.lines.items.first == "lost 600")
            _ = try await bench.post("a.b", id: "next")
            try await eventually("it continues") { lost.told == ["next"] }

            let stranger = client(streams, thread, EventSelection(app: AppKey(rawValue: 2)), seed: 9)
            stranger.connect()
            try await eventually("it has begun, at a number") { stranger.lines.items.first == "after 601" }
            for client in [earliest, lost, stranger] { client.leave() }
        }
    }

    /// Takes all that is written.
    private final class Sink: StreamOutput, Sendable {
        let isFull = false
        let lines = Recorder<String>()
        func write(_ bytes: [UInt8]) { lines.record(String(decoding: bytes, as: UTF8.self)) }
        func end() {}
    }

    /// The streams that are woken whenever the clock is read.
    private final class Moment: Sendable {
        private let held = Mutex<EventStreams?>(nil)
        var streams: EventStreams? {
            get { held.withLock { $0 } }
            set { held.withLock { $0 = newValue } }
        }
    }

    @Test("an event that is published while the first stream opens leaves it awake for the next ones")
    func wokenWhileOpening() async throws {
        let moment = Moment()
        let clock = Clock(
            monotonic: Clock.system.monotonic,
            wall: {
                moment.streams?.wake()
                return Clock.system.wall()
            })
        let bench = try HubBench(clock: clock)
        let made = EventStreams(hub: bench.hub, format: .lines { $0.id })
        try await withStreams(of: bench, made) { bench, streams, thread in
            let sink = Sink()
            moment.streams = streams
            thread.perform {
                _ = streams.open(EventSelection(), description: "test", on: thread, to: sink, start: nil)
            }
            try await eventually("it has begun") { !sink.lines.items.isEmpty }
            moment.streams = nil
            _ = try await bench.post("a.b", id: "e1")
            try await eventually("it gets the event") { sink.lines.items.contains("entry e1\n") }
        }
    }
}
