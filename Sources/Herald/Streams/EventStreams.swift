import Runtime
import Synchronization

/// All clients that listen: one delegate of the multicast, which fans out to them.
///
/// A stream is a place in the log, as a lane is. Those that have come to its end are *live*: each batch is made into bytes
/// once for all that ask for the same, and the same bytes go to each. One whose client doesn't read fast enough falls
/// *behind*, which costs nothing but its number, and reads on from the log when there is room again. So a stream
/// that resumes and one that was slow are the same thing.
///
/// Told on the writer's thread; works on the streams' thread, to which all that changes belongs but for what is behind
/// the lock. That is why it may cross threads.
public final class EventStreams: EventDelegate, @unchecked Sendable {
    private struct Shared {
        var thread: (any StreamThread)?
        var open: [String: EventStream] = [:]
        var opened: Int64 = 0
    }

    let hub: Hub
    let format: StreamFormat
    private let shared = Mutex(Shared())
    private let isAwake = Atomic(false)
    /// Streams that were added and have not been closed.
    private let count = Atomic(0)

    // The streams' thread.

    private var channels: [StreamInterest: StreamChannel] = [:]
    private var liveCount = 0
    /// What the live ones have been told up to.
    private var position: Sequence = 0
    var pages = PageCache()
    /// Those that wait for a page, by number.
    var waiting: [Int64: EventStream] = [:]
    var erasuresSeen = 0

    public init(hub: Hub, format: StreamFormat) {
        self.hub = hub
        self.format = format
    }

    // MARK: Any thread

    public func published(_ batch: EventBatch) {
        // Sequentially consistent, as in `open`: either it sees these events in the tail, or this sees the stream.
        if count.load(ordering: .sequentiallyConsistent) == 0 { return }
        if isAwake.exchange(true, ordering: .sequentiallyConsistent) { return }
        perform {
            self.isAwake.store(false, ordering: .sequentiallyConsistent)
            self.advance()
        }
    }

    /// Those that are open.
    public var all: [EventStream] { shared.withLock { Array($0.open.values) } }

    public func stream(_ id: String) -> EventStream? { shared.withLock { $0.open[id] } }

    func perform(_ body: @escaping @Sendable () -> Void) {
        shared.withLock { $0.thread }?.perform(body)
    }

    // MARK: The streams' thread

    /// Begins to tell a client.
    /// - Parameters:
    ///   - thread: the same for all streams; this is called on it.
    ///   - start: finds the place after which to begin, on a reader's thread; `nil` from it: the log doesn't have it.
    ///     Without one the stream begins now.
    public func open(
        _ interest: StreamInterest, description: String, on thread: any StreamThread, to output: any StreamOutput,
        start: (@Sendable (any StoreReader) throws(StoreError) -> Sequence?)?
    ) -> EventStream {
        count.add(1, ordering: .sequentiallyConsistent)
        let now = hub.clock.wall()
        let id = hub.ids.next("dlg_", time: now)
        let stream = shared.withLock { shared in
            shared.thread = thread
            shared.opened += 1
            let stream = EventStream(
                id: id, number: shared.opened, interest: interest, description: description, createdAt: now,
                output: output)
            shared.open[id] = stream
            return stream
        }
        begin(stream, start)
        return stream
    }

    /// The client has gone.
    public func close(_ stream: EventStream) {
        if case .closed = stream.phase { return }
        leaveChannel(stream)
        stream.move(to: .closed)
        waiting[stream.number] = nil
        shared.withLock { $0.open[stream.id] = nil }
        count.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// The client has read what waited for it.
    public func drained(_ stream: EventStream) { goOn(stream) }

    // MARK: Live

    /// Tells the live ones what is new.
    func advance() {
        while liveCount > 0 {
            switch hub.tail.slice(after: position, limit: Self.eventsPerTurn) {
            case .end: return
            case .events(let batch):
                position = batch.last
                tell(batch)
            case .gone:
                // This thread was too slow for all of them.
                for stream in channels.values.flatMap(\.members) { fallBehind(stream, after: position) }
            }
        }
    }

    /// Of the tail, for all streams or for one that is behind.
    static let eventsPerTurn = 256

    private func tell(_ batch: EventBatch) {
        var frames: [[UInt8]?] = Array(repeating: nil, count: batch.events.count)
        for (interest, channel) in channels {
            let pieces = StreamPieces(batch, interest) { index in
                if let frame = frames[index] { return frame }
                let frame = format.event(batch.events[index])
                frames[index] = frame
                return frame
            }.pieces
            if pieces.isEmpty { continue }
            for stream in channel.members { tell(stream, pieces) }
        }
    }

    private func tell(_ stream: EventStream, _ pieces: [StreamPieces.Piece]) {
        for (index, piece) in pieces.enumerated() {
            stream.output.write(piece.bytes)
            if !stream.output.isFull { continue }
            // What it has not got is its client's own affair from here on.
            return fallBehind(stream, after: index == pieces.count - 1 ? position : piece.through)
        }
    }

    private func fallBehind(_ stream: EventStream, after place: Sequence) {
        leaveChannel(stream)
        stream.move(to: .behind(after: place))
        if !stream.output.isFull { perform { self.goOn(stream) } }
    }

    /// - Returns: whether the place is the end of the log, so that it is told with the others from here on.
    func joinChannel(_ stream: EventStream, at place: Sequence) -> Bool {
        if liveCount == 0 { position = place }
        advance()
        guard place == position else { return false }
        stream.move(to: .live)
        channels[stream.interest, default: StreamChannel()].add(stream)
        liveCount += 1
        return true
    }

    private func leaveChannel(_ stream: EventStream) {
        guard case .live = stream.phase else { return }
        channels[stream.interest]?.remove(stream)
        if channels[stream.interest]?.members.isEmpty == true { channels[stream.interest] = nil }
        liveCount -= 1
    }
}
