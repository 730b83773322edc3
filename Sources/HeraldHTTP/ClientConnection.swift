internal import CHeraldMicrohttpd
import Glibc

/// A client's connection and its current request. One object for the connection's life; libmicrohttpd holds a reference
/// to it from `opened` to `closed`, and so does each responder.
///
/// All mutable state belongs to the loop's thread; other threads only use the reference in mail, which is why
/// `@unchecked Sendable` is correct.
final class ClientConnection: @unchecked Sendable {
    enum Phase {
        /// No request, or no further one: until the request line has arrived, or the deadline.
        case idle
        /// The request line has arrived: until the header section is complete.
        case head
        /// The header section was accepted, the body arrives: until its end.
        case body
        /// Refused, without a body: until the library reports the end of the request.
        case refused
        /// `handle` is running: until it returns.
        case handling
        /// There is no response yet, and the library asks for it in each run: until there is one, or it has asked often
        /// enough.
        case waiting
        /// Waits without polling: until there is a response.
        case suspended
        /// The response is delayed: until its deadline.
        case held
        /// The response is queued: until it is written.
        case answered
        /// A stream has the socket: until the library has released the rest. Over TLS: until the stream ends.
        case detached
        /// The last response was sent, and the socket taken from the library: until it has released the rest.
        case left
        /// The connection has ended.
        case closed
    }

    /// Its list holds this connection in turn, until `closed`.
    let loop: ServerLoop
    /// The socket's.
    let address: PeerAddress
    /// Whether it is a trusted proxy's.
    let isProxied: Bool
    /// The client: the socket's address, or, behind a trusted proxy, the client of the current request.
    var peer: PeerAddress
    /// Valid until `closed`.
    let handle: OpaquePointer

    var phase = Phase.idle
    /// When the phase is ended by force, on the monotonic clock.
    var deadline: Int64
    /// When it became idle, or when its request started, on the monotonic clock.
    var since: Int64
    /// Whether to check if the client closed the connection together with its last request.
    var isUnseen = false
    /// Whether the connection's first request is not complete yet: its deadline counts from the connection's start.
    var isFresh = true
    /// Whether it counts towards the limit of its client. A socket that is passed on still counts.
    var isCounted: Bool
    /// Whether it is counted in the loop's `shares`.
    var isShared: Bool
    /// Whether it was cut.
    var isClosing = false
    /// Whether it is beyond the limit of its address: only some requests are served.
    var usesReserve = false
    /// Whether the client of the current request accepts only an event stream (`ServerLoop.withholds`).
    var wantsEventStream = false
    /// The `Origin` of the current request.
    var origin: String?
    /// The run of the library in which the last request ended.
    var finishedIn: UInt64 = 0
    /// The number of the loop's last read when the last request ended.
    var finishedAfterRead = 0
    /// Whether the request is the last one on its connection.
    var isLast = false
    /// Whether the request changes nothing, so that the client can repeat it.
    var onlyReads = false
    /// How often the library may still ask for the response before the connection is suspended.
    var pollsLeft = 0
    /// Numbers the requests, so that a late response can't be sent to the next one.
    var request: UInt64 = 0
    /// The index in the loop's list.
    var index = 0
    /// Numbers the connections of a loop from the first.
    let number: Int

    // Unchecked: only the loop's thread uses them, and no change of them calls anything that uses the connection. The
    // checks would take a fiftieth of the time of a request.
    @exclusivity(unchecked) var target: [UInt8] = []
    @exclusivity(unchecked) var head: RequestHead?
    /// Handles the request when it is complete.
    @exclusivity(unchecked) var admitted: (any AdmittedRequest)?
    @exclusivity(unchecked) var body: [UInt8] = []
    /// How much of the body, or of the response's, counts among the loop's `partialBytes`.
    var countedBytes = 0
    /// For a chunked body, which has to be checked.
    @exclusivity(unchecked) var chunks: ChunkRules?
    /// Used by the connection's TLS session until its end.
    var certificate: ServerCertificate?
    /// For a stream over TLS.
    var bridge: TLSStreamBridge?
    /// A response that is known before it can be queued: a refusal, or one sent within `handle`.
    @exclusivity(unchecked) var immediate: Response?

    init(_ loop: ServerLoop, peer: PeerAddress, handle: OpaquePointer, number: Int) {
        self.loop = loop
        address = peer
        isProxied = loop.addresses.proxies.contains(peer)
        self.peer = peer
        isCounted = !isProxied
        isShared = !isProxied
        self.handle = handle
        self.number = number
        deadline = 0
        since = loop.now
    }

    /// Whether there is a request without a response.
    var isWaiting: Bool { phase == .waiting || phase == .suspended }

    /// `POLLRDHUP` of Linux, which the module of the C library lacks: the client has closed its side.
    private static let hasLeft: Int16 = 0x2000

    /// Whether the client still waits for the response to a request. The loop's thread.
    func isAwaited(_ number: UInt64) -> Bool {
        guard request == number, isWaiting else { return false }
        // Over TLS there may be unread bytes before the end.
        var socket = pollfd(
            fd: herald_mhd_descriptor(handle), events: Self.hasLeft, revents: 0)
        return poll(&socket, 1, 0) == 0
    }

    /// Clears the request. Keeps the target's buffer for the next one, unless it is large.
    func reset() {
        request += 1
        head = nil
        admitted = nil
        body = []
        loop.forgetBytes(of: self)
        if chunks != nil { loop.forgetChunks(of: self) }
        chunks = nil
        isLast = false
        wantsEventStream = false
        origin = nil
        immediate = nil
        bridge = nil
        target.removeAll(keepingCapacity: target.capacity <= 1024)
    }
}
