internal import CHeraldMicrohttpd

/// A client's connection and the request it is at. One object for the connection's life; libmicrohttpd holds a reference
/// to it from `opened` to `closed`, and so does each responder.
///
/// All but the constants belongs to the loop's thread; others hold it only to name it in a mail, which is why it may
/// cross threads.
final class ClientConnection: @unchecked Sendable {
    enum Phase {
        /// No request yet, or no further one: until the request line has come, or the deadline.
        case idle
        /// The request line has come: until the head is complete.
        case head
        /// The head was accepted, the body comes: until its end.
        case body
        /// Refused, without body: until the library calls again for the end of the request.
        case refused
        /// `handle` is being called: until it returns.
        case handling
        /// There is no answer yet, and the library asks for it in each of its runs: until there is one, or it has asked
        /// often enough.
        case waiting
        /// Waits without being asked: until there is an answer.
        case suspended
        /// The answer is held back: until its deadline, which is when it is due.
        case held
        /// The answer is queued: until it is written.
        case answered
        /// The answer goes on. The socket belongs to a stream: until the library has let the rest go. Over TLS: until the
        /// stream ends.
        case detached
        /// The last answer is given, and the client taken from the library: until it has let the rest go.
        case left
        /// The end.
        case closed
    }

    /// Its list holds this connection in turn, until `closed`.
    let loop: ServerLoop
    let peer: PeerAddress
    /// Valid until `closed`.
    let handle: OpaquePointer

    var phase = Phase.idle
    /// When the phase ends by force, on the monotonic clock.
    var deadline: Int64
    /// Since when it is idle, or its request is on the way, on the monotonic clock.
    var since: Int64
    /// Whether its socket is still to be asked if the client closed together with its last request.
    var isUnseen = false
    /// Whether the connection's first request is still to come or coming: its time runs from the connection's start.
    var isFresh = true
    /// Whether a stream has taken the socket over, and with it the place among those of its address.
    var isDetached = false
    /// The run of the library in which a request ended last.
    var finishedIn: UInt64 = 0
    /// Whether nothing may follow the request on its connection.
    var isLast = false
    /// How often the library may ask for the answer before the connection is suspended.
    var pollsLeft = 0
    /// Counts requests, so that a late answer can't reach the next one.
    var request: UInt64 = 0
    /// The place in the loop's list.
    var index = 0

    var target: [UInt8] = []
    var head: RequestHead?
    /// Takes the request when it is complete.
    var admitted: (any AdmittedRequest)?
    var body: [UInt8] = []
    /// Of a body in chunks, with a library that must be watched.
    var chunks: ChunkLayout?
    /// Shown in the connection's TLS session, which needs it to the end.
    var certificate: ServerCertificate?
    /// Of an answer that goes on over TLS.
    var bridge: TLSStreamBridge?
    /// The answer that is known before it can be queued: a refusal, or one given within `handle`.
    var immediate: Response?

    init(_ loop: ServerLoop, peer: PeerAddress, handle: OpaquePointer, deadline: Int64) {
        self.loop = loop
        self.peer = peer
        self.handle = handle
        self.deadline = deadline
        since = loop.now
    }

    /// Whether there is a request without an answer.
    var isWaiting: Bool { phase == .waiting || phase == .suspended }

    /// Forgets the request. Keeps the target's memory, if it is not much, for the next one.
    func reset() {
        request += 1
        head = nil
        admitted = nil
        body = []
        chunks = nil
        isLast = false
        immediate = nil
        bridge = nil
        target.removeAll(keepingCapacity: target.capacity <= 1024)
    }
}
