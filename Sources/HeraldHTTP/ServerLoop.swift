internal import CHeraldMicrohttpd
import Glibc
internal import HeraldRuntime
internal import Synchronization

/// One thread that drives one libmicrohttpd daemon: `poll` on its epoll descriptor and on an eventfd, then `MHD_run`.
/// With an internal thread, 0.9.75 stalls while exactly 128, 256 or 384 connections are busy.
///
/// All mutable state is used only by the loop's thread after `init`: connections, deadlines, and all calls into the
/// library. Other threads send mail. So waiting and responding need no lock and can't race: a response from another
/// thread is mail, and is read between two calls of `MHD_run`.
final class ServerLoop: @unchecked Sendable {
    enum Mail: Sendable {
        /// `nil` if the responder was released without a response.
        case answer(ClientConnection, request: UInt64, Response?)
        /// The response is a stream.
        case stream(ClientConnection, request: UInt64, StreamStart)
        /// A TLS connection whose handshake is complete.
        case arrival(TLSConnection)
        case stopAccepting(done: Wakeup?)
        case pulse(@Sendable () -> Void)
        case allowedHosts([String])
        case stop
    }

    let configuration: HTTPServerConfiguration
    let handler: any RequestHandler
    private(set) var rules: HeadRules
    let addresses: AddressLimit
    let streams: StreamLoop
    let counters = LoopCounters()
    private let clock: Clock
    private let wakeup: Wakeup
    private let mailbox: Mailbox<Mail>
    /// The thread's id once it runs, 0 before.
    private let thread = Atomic<UInt>(0)
    /// Cleared when the listening socket is closed.
    let isAccepting = Atomic(true)
    /// Set when mail is not read any more.
    let isOver = Atomic(false)

    /// TLS connections that wait for a place.
    var arrivals: [TLSConnection] = []
    /// The one that is being given to the library.
    var arrival: TLSConnection?
    /// Watches streams over TLS between two pieces; `nil` without TLS.
    let bridgeEpoll: Epoll?
    /// The header `Strict-Transport-Security` of every response; `nil` for none.
    let strictTransport: String?
    /// By both descriptors of each bridge that is watched.
    var bridges: [Int32: TLSStreamBridge] = [:]

    private(set) var daemon: OpaquePointer?
    private let callbacks: UnsafeMutablePointer<herald_mhd>
    let fields: UnsafeMutableBufferPointer<herald_mhd_field>

    // Unchecked: only the loop's thread uses them, and no change of them calls anything that uses the loop. Each round reads
    // them, and the checks would take a hundredth of the time of a request.
    @exclusivity(unchecked) var connections: [ClientConnection] = []
    /// Connections whose first request got its response in this round.
    @exclusivity(unchecked) var answeredFirst: [ClientConnection] = []
    /// Connections with a chunked body that is arriving, by their descriptor.
    @exclusivity(unchecked) var chunked: [Int32: ClientConnection] = [:]
    /// The library does not run: what is read may respond to any connection.
    private(set) var readsMail = false
    /// The time of this round.
    var now: Int64
    /// The limit of this loop.
    let maxConnections: Int
    /// The earliest time of the next search for places.
    var nextRoom: Int64 = 0
    /// How many connections of this loop each client has, without streams.
    var shares: AddressShares
    /// Connections that their clients may lose for new ones.
    var replaceable: [PeerAddress: Replaceable] = [:]
    var nextForgetting: Int64 = 0
    /// Connections that were cut, and that the library still has.
    var closing = 0
    /// No deadline is before this time.
    var nextExpiry = Int64.max
    /// Connections since the start.
    var accepted = 0
    /// Counts the runs of the library.
    var round: UInt64 = 0
    /// The bytes of large bodies of incomplete requests, and of responses that are being sent.
    private var partialBytes = 0
    /// The part of each client.
    private var partialBytesOfClients: [PeerAddress: Int] = [:]
    var lastRead = LastRead()
    /// Clients that were sent their last response.
    var leaving: LeavingClients
    var isStopping = false
    /// A connection ended in the last run: at its limit the library notices the free place only in another run, and
    /// does not accept clients until then. Or a connection was resumed in it.
    var mustRunAgain = false
    /// Connections in the phase `waiting`.
    var asked = 0
    /// The library called in the last run for something else than polling.
    var hasAdvanced = false
    /// When a stop no longer waits for responses to be written, on the machine's clock.
    private var stopLimit: Int64 = 0

    /// Takes ownership of the socket. `nil` for TLS: connections arrive by mail.
    init(
        _ configuration: HTTPServerConfiguration, _ socket: ListeningSocket?, handler: any RequestHandler,
        addresses: AddressLimit, streams: StreamLoop, clock: Clock
    ) throws(HTTPServerError) {
        self.configuration = configuration
        self.handler = handler
        self.addresses = addresses
        self.streams = streams
        self.clock = clock
        let seconds = configuration.certificate == nil ? 0 : configuration.strictTransportSeconds
        strictTransport = seconds == 0 ? nil : "max-age=\(seconds)"
        rules = HeadRules(allowedHosts: configuration.allowedHosts, maxBodyBytes: configuration.maxBodyBytes)
        now = clock.monotonic()
        maxConnections = (configuration.maxConnections + configuration.loops - 1) / configuration.loops
        shares = AddressShares(places: maxConnections, factor: 2)
        do {
            wakeup = try Wakeup()
            bridgeEpoll = configuration.certificate == nil ? nil : try Epoll()
            leaving = try LeavingClients(addresses: addresses, maxBytes: 4 * configuration.maxBodyBytes + 65_536)
        } catch {
            if let socket { close(socket.descriptor) }
            throw .system(error)
        }
        fields = .allocate(capacity: RawHead.maxFields + 1)
        callbacks = .allocate(capacity: 1)
        mailbox = Mailbox(wakeup: wakeup)
        callbacks.initialize(to: .calling(self, configuration, socket))
        daemon = herald_mhd_start(callbacks)
        // Whether the library has closed the socket then depends on where it failed. Closing it twice could close
        // another descriptor, so it is left open until the process ends, which is soon.
        if daemon == nil { throw .daemonFailed }
    }

    deinit {
        if let daemon { MHD_stop_daemon(daemon) }
        fields.deallocate()
        callbacks.deallocate()
    }

    /// The thread's body: returns after a mail `stop`.
    func run() {
        thread.store(UInt(pthread_self()), ordering: .releasing)
        guard let daemon else { return }
        var descriptors = [
            pollfd(fd: herald_mhd_epoll_descriptor(daemon), events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: leaving.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        if let bridgeEpoll {
            descriptors.append(pollfd(fd: bridgeEpoll.descriptor, events: Int16(POLLIN), revents: 0))
        }
        while !(isStopping && hasFlushed) {
            let isReady = mustRunAgain || herald_mhd_is_ready(daemon) != 0
            let wait = isReady ? (asked == 0 || hasAdvanced || mustRunAgain ? 0 : 1) : milliseconds(until: nextExpiry)
            mustRunAgain = false
            hasAdvanced = false
            if wait != 0 { _ = poll(&descriptors, nfds_t(descriptors.count), wait) }
            now = clock.monotonic()
            if descriptors[1].revents != 0 {
                descriptors[1].revents = 0
                wakeup.clear()
            }
            // Before the run: resuming a connection wakes nothing, so the library would not handle it otherwise.
            readsMail = true
            for mail in mailbox.takeAll() { read(mail) }
            readsMail = false
            if !arrivals.isEmpty { addArrivals() }
            if !bridges.isEmpty { checkBridges() }
            if !leaving.isEmpty { leaving.check() }
            if now >= nextExpiry { expire() }
            round += 1
            runLibrary(daemon, for: self)
            checkFirstRequests()
            makeRoom()
            forgetReplaceable()
            if hasAdvanced { handler.roundEnded() }
        }
        MHD_stop_daemon(daemon)
        self.daemon = nil
        leaving.endAll()
        isOver.store(true, ordering: .sequentiallyConsistent)
        _ = mailbox.takeAll()
    }

    /// Counts a large body that is on its way, or the part of it that has arrived. With a limit of connections of one address, a
    /// client has at most three times the bytes that stay free, so that there are some for others. One body of a client needs
    /// only what is free.
    /// - Returns: `false` if there is no room for it. There is always room for one.
    func count(_ bytes: Int, of connection: ClientConnection) -> Bool {
        guard bytes > Self.smallBody else { return true }
        let client = connection.peer.client
        let others = partialBytes - connection.countedBytes
        let own = (partialBytesOfClients[client] ?? 0) - connection.countedBytes
        let free = configuration.maxPartialBytes / configuration.loops - others - bytes
        let isInShare = own == 0 || addresses.limit == 0 || (own + bytes) / 3 <= free
        guard others == 0 || (free >= 0 && isInShare) else { return false }
        partialBytes = others + bytes
        partialBytesOfClients[client] = own + bytes
        connection.countedBytes = bytes
        return true
    }

    /// The body has arrived, or the connection's request has ended.
    func forgetBytes(of connection: ClientConnection) {
        if connection.countedBytes == 0 { return }
        let client = connection.peer.client
        let left = (partialBytesOfClients[client] ?? 0) - connection.countedBytes
        partialBytesOfClients[client] = left > 0 ? left : nil
        partialBytes -= connection.countedBytes
        connection.countedBytes = 0
    }

    /// Each connection may have a body of this size.
    private static let smallBody = 16 << 10

    private func milliseconds(until time: Int64) -> Int32 {
        if isStopping { return 10 }
        if time == .max { return -1 }
        return Int32(clamping: (time - now) / 1_000_000 + 1)
    }

    /// Any thread.
    func post(_ mail: Mail) {
        mailbox.post(mail)
        // Unread mail would keep connections in memory for ever.
        if isOver.load(ordering: .sequentiallyConsistent) { _ = mailbox.takeAll() }
    }

    /// Any thread: reads the clock again.
    func wake() { wakeup.signal() }

    /// Milliseconds since 1970.
    var wall: Int64 { clock.wall() }

    var isOwnThread: Bool { thread.load(ordering: .acquiring) == UInt(pthread_self()) }

    func read(_ mail: Mail) {
        switch mail {
        case .answer(let connection, let request, let response):
            guard connection.request == request, connection.isWaiting else { break }
            let response = response ?? failure(.unanswered, of: connection)
            if response.holdMilliseconds == 0 || isStopping { return resume(connection, response) }
            if connection.phase == .suspended { return hold(suspended: connection, response) }
            // It will be suspended in the next run.
            connection.pollsLeft = 1
            post(mail)
        case .stream(let connection, let request, let start):
            guard connection.request == request, connection.isWaiting else { break }
            if connection.phase == .suspended { return detach(connection, start) }
            // Only a suspended connection releases its socket; it will be suspended in the next run.
            connection.pollsLeft = 1
            post(mail)
        case .arrival(let connection): arrivals.append(connection)
        case .stopAccepting(let done):
            stopAccepting()
            done?.signal()
        case .pulse(let body): body()
        case .allowedHosts(let hosts):
            rules = HeadRules(allowedHosts: hosts, maxBodyBytes: configuration.maxBodyBytes)
        case .stop:
            stopAccepting()
            isStopping = true
            arrivals = []
            stopLimit = Clock.system.monotonic() + Self.flushNanoseconds
            for connection in connections where connection.isWaiting {
                resume(connection, failure(.stopping, of: connection))
            }
            for connection in connections where connection.phase == .held { release(connection) }
            for connection in connections { connection.bridge?.resume(isOver: true) }
        }
    }

    /// The time that a stop gives to unwritten responses.
    private static let flushNanoseconds: Int64 = 1_000_000_000

    private var hasFlushed: Bool {
        !connections.contains { $0.phase == .answered } || Clock.system.monotonic() > stopLimit
    }

    /// Closes the listening socket. The loop's thread.
    func stopAccepting() {
        guard isAccepting.load(ordering: .relaxed), let daemon else { return }
        let descriptor = MHD_quiesce_daemon(daemon)
        if descriptor >= 0 { close(descriptor) }
        isAccepting.store(false, ordering: .releasing)
    }
}

extension ServerLoop: CallerLoop {
    func post(_ body: @escaping @Sendable () -> Void) { post(.pulse(body)) }
}

// Deadlines. The library's own timeout counts inactivity, so a client that sends a byte per second would stay for ever.
// It is switched off, which also saves its bookkeeping, and every phase of a connection gets an absolute deadline here.
extension ServerLoop {
    /// How long after a response the client's side of the connection is checked. An end that arrived together with the
    /// request is not reported again: the library has read the bytes, and waits for more.
    static let unseenNanoseconds: Int64 = 500_000_000
    func setDeadline(_ connection: ClientConnection, seconds: Int) {
        setDeadline(connection, milliseconds: seconds * 1_000)
    }

    func setDeadline(_ connection: ClientConnection, milliseconds: Int) {
        setDeadline(connection, now + Int64(milliseconds) * 1_000_000)
    }

    func setDeadline(_ connection: ClientConnection, _ deadline: Int64) {
        connection.deadline = deadline
        nextExpiry = min(nextExpiry, deadline)
    }

    /// Ends overdue phases. Checks all connections, at most 20 times a second: 2,000 of them take about 10 µs, and a
    /// request only stores its deadline.
    private func expire() {
        leaving.expire(now: now)
        var next = leaving.nextDeadline
        for connection in connections {
            if connection.deadline <= now { expire(connection) }
            next = min(next, connection.deadline)
        }
        nextExpiry = next == .max ? next : max(next, now + 50_000_000)
    }

    private func expire(_ connection: ClientConnection) {
        if connection.isWaiting {
            resume(connection, failure(.timedOut, of: connection))
        } else if connection.phase == .idle, connection.isUnseen {
            connection.isUnseen = false
            let isOver = hasEnded(herald_mhd_descriptor(connection.handle))
            connection.deadline = connection.since + Int64(configuration.idleTimeoutSeconds) * 1_000_000_000
            if isOver || connection.deadline <= now { cut(connection, isLate: !isOver) }
        } else if connection.phase == .held {
            release(connection)
        } else {
            cut(connection, isLate: true)
        }
    }

    /// Most clients that close together with a request do so with their first one. Their place is freed without waiting
    /// for the periodic check.
    private func checkFirstRequests() {
        if answeredFirst.isEmpty { return }
        for connection in answeredFirst where connection.phase == .idle {
            guard hasEnded(herald_mhd_descriptor(connection.handle)) else { continue }
            cut(connection, isLate: false)
            mustRunAgain = true
        }
        answeredFirst.removeAll(keepingCapacity: answeredFirst.capacity <= 1024)
    }

    /// The library sees the end of the stream in its next round and closes the connection.
    func cut(_ connection: ClientConnection, isLate: Bool) {
        connection.deadline = .max
        if !connection.isClosing {
            connection.isClosing = true
            closing += 1
            leaveShare(connection)
        }
        if isLate { counters.expiredConnections.addFromOneThread(1) }
        shutdown(herald_mhd_descriptor(connection.handle), Int32(SHUT_RDWR))
    }
}

// Streams. libmicrohttpd would keep its 16 KiB for each, scan all suspended connections whenever one is resumed, and
// not notice clients that disconnect. So a stream takes the socket, and the library releases the rest.
extension ServerLoop {
    /// - Precondition: the connection is suspended, its request complete.
    private func detach(_ connection: ClientConnection, _ start: StreamStart) {
        if isStopping { return resume(connection, failure(.stopping, of: connection)) }
        if connection.certificate != nil { return openBridge(connection, start) }
        let descriptor = herald_mhd_detach(connection.handle, streams.placeholder)
        guard descriptor >= 0 else { return resume(connection, failure(.overloaded, of: connection)) }
        endWait(of: connection)
        counters.countAnswer(200)
        connection.phase = .detached
        // The library polls, is refused, and closes the placeholder.
        MHD_resume_connection(connection.handle)
        streams.open(start, descriptor)
    }
}
