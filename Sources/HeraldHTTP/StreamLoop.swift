import Glibc
internal import HeraldRuntime
internal import Synchronization

/// The one thread that writes streams, and owns their sockets. It sleeps in epoll; an idle stream costs its descriptor,
/// an entry here, and periodic heartbeats.
///
/// `@unchecked Sendable`: other threads use the constants, the mailbox and the atomics; everything else is used only by
/// this thread.
package final class StreamLoop: @unchecked Sendable {
    private enum Mail: Sendable {
        case open(StreamStart, Int32, writesHead: Bool)
        case perform(@Sendable () -> Void)
        case stop
    }

    /// An unconnected socket: replaces a client's socket in the library.
    let placeholder: Int32
    /// With a limit, an address has a share of the streams, and not all of them.
    private let addresses: AddressLimit
    private let clock: Clock
    private let epoll: Epoll
    private let wakeup: Wakeup
    private let mailbox: Mailbox<Mail>
    private let shares: Mutex<StreamShares>
    /// Streams that were cut off.
    private let cut = Atomic(0)
    private let isOver = Atomic(false)

    // The streams' thread.

    private var streams: [ResponseStream] = []
    private var byDescriptor: [Int32: ResponseStream] = [:]
    private var closing: [ResponseStream] = []
    /// The time of this round.
    private(set) var now: Int64
    private var nextCheck: Int64 = 0
    private var isStopping = false

    init(maxStreams: Int, addresses: AddressLimit, clock: Clock) throws(SystemError) {
        self.addresses = addresses
        shares = Mutex(StreamShares(limit: maxStreams))
        self.clock = clock
        now = clock.monotonic()
        epoll = try Epoll()
        wakeup = try Wakeup()
        mailbox = Mailbox(wakeup: wakeup)
        try epoll.add(wakeup.descriptor, .read)
        placeholder = Int32(
            try systemCall("socket") {
                Int(socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0))
            })
    }

    deinit {
        close(placeholder)
    }

    // MARK: Any thread

    /// The number of streams, including those about to start.
    var count: Int { shares.withLock { $0.total } }

    /// Streams that were ended because their client did not read, since the start.
    var cuts: Int { cut.load(ordering: .relaxed) }

    /// - Returns: `false` if there are too many, in all, of this client or of this group.
    func takePlace(for holder: StreamHolder) -> Bool {
        let dividesAddresses = addresses.limit != 0
        return shares.withLock { $0.add(holder, dividesAddresses: dividesAddresses) }
    }

    func givePlaceBack(of holder: StreamHolder) { shares.withLock { $0.remove(holder) } }

    /// Takes ownership of the descriptor.
    /// - Parameter writesHead: whether to write the response's header section, too.
    func open(_ start: StreamStart, _ descriptor: Int32, writesHead: Bool = true) {
        post(.open(start, descriptor, writesHead: writesHead))
    }

    /// Runs `body` on this thread, after earlier calls; never after the server has stopped.
    package func perform(_ body: @escaping @Sendable () -> Void) { post(.perform(body)) }

    func stop() { post(.stop) }

    /// Reads the clock again.
    func wake() { wakeup.signal() }

    private func post(_ mail: Mail) {
        mailbox.post(mail)
        if isOver.load(ordering: .sequentiallyConsistent) { discard() }
    }

    /// Mail is not read any more, so these sockets must be closed here.
    private func discard() {
        for case .open(_, let descriptor, _) in mailbox.takeAll() { close(descriptor) }
    }

    /// The system's send buffer of a stream. The total over all streams matters: a few may need much, so that a burst
    /// does not make them fall behind. The system uses twice as much, including its own overhead.
    private static let unreadBytes = 16 << 20
    private static let unreadBytesOfOne = (16 << 10)...(128 << 10)

    /// Bounds the send buffer of a stream's socket.
    private func boundUnread(_ descriptor: Int32) {
        let share = Self.unreadBytes / max(count, 1)
        var bytes = Int32(min(max(share, Self.unreadBytesOfOne.lowerBound), Self.unreadBytesOfOne.upperBound))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, 4)
    }

    /// Small pieces are sent at once; unread data is bounded; a client whose machine has disappeared is noticed because
    /// it does not acknowledge a heartbeat. For the client's socket, and over TLS also for the end of the pair, which
    /// ignores the options of TCP.
    func prepare(_ descriptor: Int32) {
        func set(_ level: Int32, _ option: Int32, _ value: Int32) {
            var value = value
            setsockopt(descriptor, level, option, &value, 4)
        }
        set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, 60_000)
        boundUnread(descriptor)
    }

    // MARK: The streams' thread

    /// The thread's body: returns after `stop`, when all streams are closed.
    func run() {
        var ready: [(descriptor: Int32, interest: Epoll.Interest)] = []
        while !isStopping {
            ready.removeAll(keepingCapacity: true)
            epoll.wait(milliseconds: streams.isEmpty ? -1 : 1000) { ready.append(($0, $1)) }
            now = clock.monotonic()
            for (descriptor, interest) in ready {
                if let stream = byDescriptor[descriptor] { handle(stream, interest) } else { wakeup.clear() }
            }
            for mail in mailbox.takeAll() { read(mail) }
            if now >= nextCheck { checkStreams() }
            closeEndedStreams()
        }
        for stream in streams { stream.end() }
        closeEndedStreams()
        isOver.store(true, ordering: .sequentiallyConsistent)
        discard()
    }

    private func read(_ mail: Mail) {
        switch mail {
        case .open(let start, let descriptor, let writesHead): begin(start, descriptor, writesHead)
        case .perform(let body): body()
        case .stop: isStopping = true
        }
    }

    private func begin(_ start: StreamStart, _ descriptor: Int32, _ writesHead: Bool) {
        prepare(descriptor)
        do throws(SystemError) {
            try epoll.add(descriptor, .hangUp)
        } catch {
            close(descriptor)
            return
        }
        start.open()
        let stream = ResponseStream(self, start, descriptor, now: now)
        stream.index = streams.count
        streams.append(stream)
        byDescriptor[descriptor] = stream
        if writesHead { stream.write(Response.streamHead(start.headers, wall: clock.wall())) }
        stream.delegate.opened(stream)
    }

    private func handle(_ stream: ResponseStream, _ interest: Epoll.Interest) {
        // A client sends nothing more: one that closes its half has disconnected.
        if !interest.isDisjoint(with: [.error, .hangUp]) { return stream.end() }
        guard interest.contains(.write), stream.flush() else { return }
        try? epoll.modify(stream.descriptor, .hangUp)
        stream.delegate.drained(stream)
    }

    /// Watches for space in the send buffer.
    func watch(_ stream: ResponseStream) {
        do throws(SystemError) {
            try epoll.modify(stream.descriptor, [.hangUp, .write])
        } catch {
            stream.end()
        }
    }

    /// Sends heartbeats, and ends streams that are not read. Once a second: 10,000 streams take half a millisecond.
    private func checkStreams() {
        nextCheck = now + 1_000_000_000
        for stream in streams {
            let seconds = (now - stream.since) / 1_000_000_000
            if stream.isFull {
                if seconds >= stream.rules.stallSeconds {
                    stream.end()
                    cut.addFromOneThread(1)
                }
            } else if seconds >= stream.rules.heartbeatSeconds {
                stream.write(stream.rules.heartbeat)
            }
        }
    }

    func willClose(_ stream: ResponseStream) { closing.append(stream) }

    /// At the end of a round, so that no delegate is called from within its own call.
    private func closeEndedStreams() {
        while let stream = closing.popLast() {
            byDescriptor[stream.descriptor] = nil
            let last = streams.removeLast()
            if last !== stream {
                last.index = stream.index
                streams[stream.index] = last
            }
            close(stream.descriptor)
            givePlaceBack(of: stream.holder)
            stream.delegate.closed(stream)
        }
    }
}
