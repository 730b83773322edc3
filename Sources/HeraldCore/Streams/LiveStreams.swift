package import HeraldDelivery
package import HeraldModel
import HeraldRuntime
import Synchronization

/// All live streams of one log: one delegate of the multicast for all of them.
///
/// A stream is a position in the log, like a lane. Streams at the end of the log are *live*: each batch is serialized
/// once for all streams with the same filter, which get the same bytes. A stream whose client does not read fast enough
/// falls *behind*, which costs only its position, and reads on from the log when there is space again. So a stream that
/// resumes and one that was slow are handled in the same way.
///
/// Called on the writer's thread; works on the streams' thread, to which all mutable state outside the lock belongs.
/// That is why `@unchecked Sendable` is correct.
package class LiveStreams<Log: StreamLog>: @unchecked Sendable {
    package typealias Interest = Log.Interest
    package typealias Entry = Log.Page.Entry
    package typealias Stream = LiveStream<Interest>

    private struct Shared {
        var thread: (any StreamThread)?
        var open: [String: Stream] = [:]
        var opened: Int64 = 0
    }

    /// Finds the position after which to start; `nil` if the log does not contain it.
    package typealias Start = @Sendable (any StoreReader) throws(StoreError) -> StreamPlace?

    private struct Beginning: Sendable {
        /// The position from which a client can resume that is disconnected before its first entry.
        let place: StreamPlace
        let head: LogPosition
        var isLost = false
    }

    private let hub: Hub
    private let log: Log
    private let format: StreamFormat<Entry>
    private let shared = Mutex(Shared())
    private let isAwake = Atomic(false)
    /// The number of open streams.
    private let count = Atomic(0)

    // The streams' thread.

    /// By app, so that an entry costs nothing for the streams of other apps.
    private var channels: [AppKey: [Interest: StreamChannel<Interest>]] = [:]
    private var liveCount = 0
    /// The position of the live streams.
    private var position: LogPosition = 0
    /// Streams with a position beyond the entries in memory.
    private var ahead: [Stream] = []
    private var pages: LogPageCache<Log.Page>
    /// Streams that wait for a page, by number.
    private var waiting: [Int64: Stream] = [:]
    private var erasuresSeen = 0

    init(hub: Hub, log: Log, format: StreamFormat<Entry>) {
        self.hub = hub
        self.log = log
        self.format = format
        pages = LogPageCache(maxBytes: LogPageCache<Log.Page>.maxPages * log.pageBytes)
    }

    // MARK: Any thread

    /// The log has grown.
    final func wake() {
        // Sequentially consistent, as in `open`: either it sees the new entries in the log, or this sees the stream.
        if count.load(ordering: .sequentiallyConsistent) == 0 { return }
        if isAwake.exchange(true, ordering: .sequentiallyConsistent) { return }
        perform {
            self.isAwake.store(false, ordering: .sequentiallyConsistent)
            self.refresh()
        }
    }

    /// The open streams.
    package final var all: [Stream] { shared.withLock { Array($0.open.values) } }

    package final func stream(_ id: String) -> Stream? { shared.withLock { $0.open[id] } }

    /// The number of entries of its app after a stream's position, including those that do not match.
    package final func lag(_ stream: Stream) -> Int64 {
        stream.place.map { log.count(of: stream.interest.app, after: $0) } ?? 0
    }

    private func perform(_ body: @escaping @Sendable () -> Void) {
        shared.withLock { $0.thread }?.perform(body)
    }

    // MARK: The streams' thread

    /// Starts a stream.
    /// - Parameters:
    ///   - thread: the same for all streams; must be the current one.
    ///   - start: called on a reader's thread. Without it the stream starts now.
    package final func open(
        _ interest: Interest, description: String, on thread: any StreamThread, to output: any StreamOutput,
        start: Start?
    ) -> Stream {
        let now = hub.clock.wall()
        let id = hub.ids.next("dlg_", time: now)
        let stream = shared.withLock { shared in
            shared.thread = thread
            shared.opened += 1
            let stream = Stream(
                id: id, number: shared.opened, interest: interest, description: description, createdAt: now,
                output: output)
            shared.open[id] = stream
            return stream
        }
        // Once the thread is known: `wake` would find none for the first stream, and never wake again.
        count.add(1, ordering: .sequentiallyConsistent)
        begin(stream, start)
        return stream
    }

    /// The client has disconnected.
    package final func close(_ stream: Stream) {
        if case .closed = stream.phase { return }
        leaveChannel(stream)
        stream.move(to: .closed)
        waiting[stream.number] = nil
        shared.withLock { $0.open[stream.id] = nil }
        if count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 { log.streamsEnded() }
    }

    /// The client has read all that was written.
    package final func drained(_ stream: Stream) { sendNext(stream) }

    // MARK: Live

    /// There may be new entries.
    private func refresh() {
        guard let thread = shared.withLock({ $0.thread }) else { return }
        log.refresh(on: thread) { [weak self] in
            guard let self else { return }
            advance()
            let arrived = ahead
            ahead = []
            for stream in arrived { sendNext(stream) }
        }
    }

    /// Sends new entries to the live streams.
    private func advance() {
        while liveCount > 0 {
            switch log.slice(after: position, limit: Self.entriesPerTurn) {
            case .end: return
            case .entries(let batch):
                position = batch.last
                send(batch)
            case .gone:
                // This thread was too slow for all of them.
                let all = channels.values.flatMap { $0.values.flatMap(\.members) }
                for stream in all { fallBehind(stream, after: position) }
            }
        }
    }

    /// In memory, for all streams or for one that is behind.
    private static var entriesPerTurn: Int { 256 }
    /// The steps of content filters for all streams, or for one that is behind: 10 ms of processor time.
    private static var filterSteps: Int { 400_000 }

    private func send(_ batch: Log.Page) {
        var frames: [[UInt8]?] = Array(repeating: nil, count: batch.entries.count)
        var steps = Self.filterSteps
        for (interest, channel) in batch.apps.flatMap({ Array(channels[$0] ?? [:]) }) {
            let found = StreamPieces(batch, interest, maxSteps: steps) { index in
                if let frame = frames[index] { return frame }
                let frame = format.entry(batch.entries[index])
                frames[index] = frame
                return frame
            }
            steps -= found.steps
            for stream in channel.members {
                if !found.pieces.isEmpty { send(stream, found.pieces) }
                // The others do not wait for its filter: it reads the rest in its turns.
                if found.isCutOff, case .live = stream.phase { fallBehind(stream, after: found.through) }
            }
        }
    }

    private func send(_ stream: Stream, _ pieces: [StreamPieces<Log.Page>.Piece]) {
        for piece in pieces {
            stream.output.write(piece.bytes)
            if !stream.output.isFull { continue }
            // From here on the stream proceeds at its client's speed.
            return fallBehind(stream, after: piece.through)
        }
    }

    private func fallBehind(_ stream: Stream, after place: LogPosition) {
        leaveChannel(stream)
        stream.move(to: .behind(after: place))
        if !stream.output.isFull { perform { self.sendNext(stream) } }
    }

    /// - Returns: whether the position is the end of the log, so that it joins the live streams.
    private func joinChannel(_ stream: Stream, at place: LogPosition) -> Bool {
        if liveCount == 0 { position = place }
        advance()
        if place > position {
            ahead.append(stream)
            return true
        }
        guard place == position else { return false }
        stream.move(to: .live)
        channels[stream.interest.app, default: [:]][stream.interest, default: StreamChannel()].add(stream)
        liveCount += 1
        return true
    }

    private func leaveChannel(_ stream: Stream) {
        guard case .live = stream.phase else { return }
        let app = stream.interest.app
        channels[app]?[stream.interest]?.remove(stream)
        if channels[app]?[stream.interest]?.members.isEmpty == true { channels[app]?[stream.interest] = nil }
        if channels[app]?.isEmpty == true { channels[app] = nil }
        liveCount -= 1
    }

    // MARK: Behind, each in its turn: a piece, then the others

    private func begin(_ stream: Stream, _ start: Start?) {
        if start == nil, let end = log.end { return begin(stream, Beginning(place: StreamPlace(end), head: end)) }
        let log = log
        let taken = hub.read(app: stream.interest.app) { reader in
            let beginning = self.hub.found(reader) { reader throws(StoreError) in
                try Self.find(start, log, reader)
            }
            self.perform { if let beginning { self.begin(stream, beginning) } else { stream.output.end() } }
        }
        if !taken { stream.output.end() }
    }

    /// A reader's thread.
    private static func find(
        _ start: Start?, _ log: Log, _ reader: any StoreReader
    ) throws(StoreError) -> Beginning {
        let head = try log.end(in: reader)
        guard let start else { return Beginning(place: StreamPlace(head), head: head) }
        let found = try start(reader)
        return Beginning(place: found ?? StreamPlace(head), head: head, isLost: found == nil)
    }

    private func begin(_ stream: Stream, _ beginning: Beginning) {
        guard case .starting = stream.phase else { return }
        log.begin(head: beginning.head)
        let place = beginning.place
        stream.output.write(format.beginning(beginning.isLost ? .lost(place) : .after(place), stream.interest.app))
        stream.move(to: .behind(after: place.number))
        sendNext(stream)
        // Entries that were added since the end was read.
        refresh()
    }

    /// Sends a stream that is behind a piece of what it has missed, if its client accepts it.
    private func sendNext(_ stream: Stream) {
        while case .behind(let place) = stream.phase, !stream.output.isFull {
            switch log.slice(after: place, limit: Self.entriesPerTurn) {
            case .end:
                if joinChannel(stream, at: place) { return }
            case .entries(let batch):
                if !send(stream, batch) { return }
            case .gone:
                return sendNext(stream, fromStoreAfter: place)
            }
        }
    }

    /// - Returns: whether nothing of it matched, so that there is time for more.
    private func send(_ stream: Stream, _ batch: Log.Page) -> Bool {
        let found = StreamPieces(batch, stream.interest, limit: 1, maxSteps: Self.filterSteps) {
            format.entry(batch.entries[$0])
        }
        guard let piece = found.pieces.first else {
            stream.move(to: .behind(after: found.through))
            // A stream with a filter examines one part in each of its turns.
            if found.steps > 0 { perform { self.sendNext(stream) } }
            return found.steps == 0
        }
        stream.output.write(piece.bytes)
        stream.move(to: .behind(after: piece.through))
        if !stream.output.isFull { perform { self.sendNext(stream) } }
        return false
    }

    // MARK: What memory has no more

    private func sendNext(_ stream: Stream, fromStoreAfter place: LogPosition) {
        let erasures = log.erasures
        if erasures != erasuresSeen {
            pages.forgetPages()
            erasuresSeen = erasures
        }
        if let page = pages.page(after: place) {
            if send(stream, page.rest(after: place)) { perform { self.sendNext(stream) } }
            return
        }
        waiting[stream.number] = stream
        if let after = pages.want(place + 1, for: stream.number, of: stream.interest.app) { read(after) }
    }

    private func read(_ after: LogPosition) {
        let log = log
        let erasures = log.erasures
        let taken = hub.read(app: nil) { reader in
            let page = self.hub.found(reader) { reader throws(StoreError) in try log.page(after: after, in: reader) }
            self.perform {
                // The page may contain attempts that were erased after it was read.
                if erasures != log.erasures { return self.read(after) }
                self.arrived(page, after)
            }
        }
        if !taken { perform { self.arrived(nil, after) } }
    }

    private func arrived(_ page: Log.Page?, _ after: LogPosition) {
        let (numbers, next) = pages.arrived(after: after, page)
        for number in numbers {
            guard let stream = waiting.removeValue(forKey: number) else { continue }
            guard let page, page.last > page.after, case .behind(let place) = stream.phase else {
                // The client will reconnect, and has its position.
                stream.output.end()
                continue
            }
            if place < page.after {
                stream.output.write(format.gap())
                stream.move(to: .behind(after: page.after))
            }
            sendNext(stream)
        }
        if let next { read(next) }
    }
}
