import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// A thread that runs what it is given, one after another.
final class QueueThread: StreamThread {
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

/// Runs `body` with streams that the bench's hub tells, on a thread of their own, and stops all of it.
func withStreams<Streams: EventDelegate>(
    of bench: HubBench, _ streams: Streams, _ body: (HubBench, Streams, QueueThread) async throws -> Void
) async throws {
    bench.hub.addDelegate(streams, description: "streams")
    let thread = try QueueThread()
    try await body(bench, streams, thread)
    await bench.stop()
    thread.stop()
}

/// A client that reads at its own pace, and loses its connection now and then. On the streams' thread, but for `lines`.
final class FickleClient<Log: StreamLog>: @unchecked Sendable {
    /// One connection. On the streams' thread only.
    final class Output: StreamOutput, @unchecked Sendable {
        weak var client: FickleClient?
        var stream: LiveStreams<Log>.Stream?
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

    let streams: LiveStreams<Log>
    let thread: any StreamThread
    private let interest: Log.Interest
    /// Finds a place by what was the last word of a line.
    private let start: @Sendable (String) -> LiveStreams<Log>.Start
    private var random: SeededRandom
    private var output: Output?
    private var lastID: String?
    private var hasLeft = false
    /// Messages, in the order in which they came.
    let lines = Recorder<String>()

    init(
        _ streams: LiveStreams<Log>, _ thread: any StreamThread, _ interest: Log.Interest, seed: UInt64,
        start: @escaping @Sendable (String) -> LiveStreams<Log>.Start
    ) {
        self.start = start
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
            start: lastID.map(start))
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

    /// The ids of what it was told of.
    var told: [String] { lines.items.filter { $0.hasPrefix("entry ") }.map { String($0.dropFirst(6)) } }
}

extension StreamFormat {
    /// One line for each thing; its last word is what to resume from.
    static func lines(_ id: @escaping @Sendable (Entry) -> String) -> StreamFormat {
        StreamFormat(
            entry: { Array("entry \(id($0))\n".utf8) },
            beginning: { beginning, _ in
                switch beginning {
                case .after(let place): Array("after \(place.id ?? String(place.number))\n".utf8)
                case .lost(let place): Array("lost \(place.id ?? String(place.number))\n".utf8)
                }
            }, gap: { Array("gap none\n".utf8) })
    }
}
