import Runtime
import Synchronization
import TestSupport
import Testing

@testable import Herald

/// A thread that runs what it is given, one after another.
private final class QueueThread: StreamThread {
    private let mailbox: Mailbox<@Sendable () -> Void>
    private let wakeup: Wakeup
    private let isOver = Atomic(false)

    init() throws {
        let wakeup = try Wakeup()
        self.wakeup = wakeup
        mailbox = Mailbox(wakeup: wakeup)
        RawHTTP.start { [self] in
            while !isOver.load(ordering: .acquiring) {
                wakeup.wait()
                for body in mailbox.takeAll() { body() }
            }
        }
    }

    func perform(_ body: @escaping @Sendable () -> Void) { mailbox.post(body) }

    func stop() {
        isOver.store(true, ordering: .releasing)
        wakeup.signal()
    }
}

/// A client that reads at its own pace, and loses its connection now and then. On the streams' thread, but for `lines`.
private final class FickleClient: @unchecked Sendable {
    /// One connection. On the streams' thread only.
    final class Output: StreamOutput, @unchecked Sendable {
        weak var client: FickleClient?
        var stream: EventStream?
        var isFull = false
        var isOver = false
        init(_ client: FickleClient) { self.client = client }

        func write(_ bytes: [UInt8]) {
            if !isOver { client?.took(bytes, from: self) }
        }

        func end() {
            isOver = true
            client?.thread.perform { [weak self] in self?.client?.reconnect() }
        }
    }

    let streams: EventStreams
    let thread: any StreamThread
    private let interest: StreamInterest
    private var random: SeededRandom
    private var output: Output?
    private var lastID: String?
    private var hasLeft = false
    /// Messages, in the order in which they came.
    let lines = Recorder<String>()

    init(_ streams: EventStreams, _ thread: any StreamThread, _ interest: StreamInterest, seed: UInt64) {
        self.streams = streams
        self.thread = thread
        self.interest = interest
        random = SeededRandom(seed: seed)
    }

    func connect(from lastID: String? = nil) {
        self.lastID = lastID
        thread.perform { self.reconnect() }
    }

    func leave() {
        thread.perform {
            self.hasLeft = true
            self.hangUp()
        }
    }

    private func hangUp() {
        if let stream = output?.stream { streams.close(stream) }
        output?.isOver = true
        output = nil
    }

    private func reconnect() {
        // The last message may have made it lose its connection just when it wanted to leave.
        if hasLeft { return }
        hangUp()
        let output = Output(self)
        self.output = output
        output.stream = streams.open(
            interest, description: "test", on: thread, to: output,
            start: lastID.map { Self.start($0, interest.app) })
    }

    private static func start(
        _ id: String, _ app: AppKey
    ) -> @Sendable (any StoreReader) throws(StoreError) -> Sequence? {
        { reader throws(StoreError) in
            id == "earliest" ? try reader.firstEvent() - 1 : try reader.event(app: app, id: id)?.sequence
        }
    }

    private func took(_ bytes: [UInt8], from output: Output) {
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            lines.record(String(line))
            if let id = line.split(separator: " ").last, id != "none" { lastID = String(id) }
        }
        switch UInt64.random(in: 0..<10, using: &random) {
        case 0:
            output.isOver = true
            thread.perform { self.reconnect() }
        case 1...3:
            output.isFull = true
            thread.perform {
                output.isFull = false
                if let stream = output.stream, !output.isOver { self.streams.drained(stream) }
            }
        default: break
        }
    }

    var events: [String] { lines.items.filter { $0.hasPrefix("event ") }.map { String($0.dropFirst(6)) } }
}

extension StreamFormat {
    fileprivate static let lines = StreamFormat(
        event: { Array("event \($0.id)\n".utf8) },
        beginning: {
            switch $0 {
            case .after(let id): Array("after \(id ?? "none")\n".utf8)
            case .lost(let id): Array("lost \(id ?? "none")\n".utf8)
            }
        }, gap: { Array("gap none\n".utf8) })
}

@Suite("Live streams")
struct EventStreamsTests {
    private func run(
        tail: Int = 16_384, _ body: (HubBench, EventStreams, QueueThread) async throws -> Void
    ) async throws {
        var configuration = Hub.Configuration()
        configuration.tailEvents = tail
        let bench = try HubBench(configuration: configuration)
        let streams = EventStreams(hub: bench.hub, format: .lines)
        bench.hub.addDelegate(streams, description: "streams")
        let thread = try QueueThread()
        try await body(bench, streams, thread)
        await bench.stop()
        thread.stop()
    }

    @Test(
        "clients that read slowly and lose their connection at any moment get every event once, in order",
        arguments: [(1, 16_384), (2, 16_384), (3, 8), (4, 8), (5, 64)] as [(UInt64, Int)])
    func reconnecting(seed: UInt64, tail: Int) async throws {
        try await run(tail: tail) { bench, streams, thread in
            for _ in 0..<20 { _ = try await bench.post("before.them") }
            let interest = StreamInterest(events: [.prefix("a.")])
            let clients = (0..<8).map { FickleClient(streams, thread, interest, seed: seed * 100 + $0) }
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
                clients.allSatisfy { $0.events.count >= expected.count }
            }
            for client in clients {
                #expect(client.events == expected)
                #expect(!client.lines.items.contains { $0.hasPrefix("lost") || $0.hasPrefix("gap") })
                client.leave()
            }
            try await eventually("nobody listens any more") { streams.all.isEmpty }
        }
    }

    @Test("from the earliest on, and after an id that is not in the log")
    func beginnings() async throws {
        try await run(tail: 4) { bench, streams, thread in
            for number in 0..<600 { _ = try await bench.post("a.b", id: "e\(number)") }
            let earliest = FickleClient(streams, thread, StreamInterest(), seed: 7)
            earliest.connect(from: "earliest")
            try await eventually("it was told everything") { earliest.events.count >= 600 }
            #expect(earliest.events == (0..<600).map { "e\($0)" })
            #expect(earliest.lines.items.first == "after none")

            let lost = FickleClient(streams, thread, StreamInterest(), seed: 8)
            lost.connect(from: "nobody-knows")
            try await eventually("it has begun") { !lost.lines.items.isEmpty }
            #expect(lost.lines.items.first == "lost e599")
            _ = try await bench.post("a.b", id: "next")
            try await eventually("it goes on") { lost.events == ["next"] }
            earliest.leave()
            lost.leave()
        }
    }

    @Test("types, subjects, and what is nobody's business")
    func interests() {
        let event = Event(id: "1", type: "a.b", subject: "user:1", time: 0, data: Array("{}".utf8))
        #expect(StreamInterest().wants(event))
        #expect(StreamInterest(events: [.exact("x"), .prefix("a.")], subjects: ["user:2", "user:1"]).wants(event))
        #expect(!StreamInterest(events: [.exact("a")]).wants(event))
        #expect(!StreamInterest(subjects: ["user:2"]).wants(event))
        #expect(!StreamInterest(app: AppKey(rawValue: 2)).wants(event))
        #expect(!StreamInterest().wants(event.erased()))
        let addressed = Event(id: "1", type: "a.b", subject: nil, time: 0, audience: 5, data: Array("{}".utf8))
        #expect(!StreamInterest().wants(addressed))
        let own = Event(id: "1", type: "herald.test", subject: nil, time: 0, data: Array("{}".utf8))
        #expect(!StreamInterest().wants(own))
        #expect(StreamInterest(events: [.prefix("herald.")]).wants(own))
    }
}
