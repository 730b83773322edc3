import Glibc
internal import HeraldRuntime

/// Who feeds a stream. Called on the streams' thread, which all streams share: it must not wait.
public protocol ResponseStreamDelegate: AnyObject, Sendable {
    /// The head is on its way: the first call.
    func opened(_ stream: ResponseStream)
    /// The client has read what it had not: there is room again.
    func drained(_ stream: ResponseStream)
    /// The client has gone, was cut off, or the stream was ended: the last call.
    func closed(_ stream: ResponseStream)
}

/// An answer that goes on. All but the constants belongs to the streams' thread: nobody else touches what changes, which
/// is why it may cross threads (`@unchecked Sendable`).
public final class ResponseStream: @unchecked Sendable {
    public let loop: StreamLoop
    public let peer: PeerAddress
    let descriptor: Int32
    let rules: StreamRules
    let delegate: any ResponseStreamDelegate

    /// What the socket has not taken: a reference to the bytes as they were given, and where it goes on.
    private var rest: [UInt8] = []
    private var sent = 0
    /// Since when the client has not read all of what was written, while it has not; else when it was written.
    private(set) var since: Int64
    /// To be closed at the end of the round.
    private(set) var isOver = false
    /// The place in the loop's list.
    var index = 0

    init(_ loop: StreamLoop, _ start: StreamStart, _ descriptor: Int32, _ peer: PeerAddress, now: Int64) {
        self.loop = loop
        self.peer = peer
        self.descriptor = descriptor
        rules = start.rules
        delegate = start.delegate
        since = now
    }

    /// Something that was written still waits for the client. Nothing more should be written until `drained`.
    public var isFull: Bool { sent < rest.count }

    /// Hands the bytes to the system; what it doesn't take is kept, without a copy, and sent when it does.
    public func write(_ bytes: [UInt8]) {
        if isOver || bytes.isEmpty { return }
        if isFull {
            rest.append(contentsOf: bytes)
            return
        }
        since = loop.now
        rest = bytes
        sent = 0
        flush()
        if isFull { loop.watch(self) }
    }

    /// Ends the stream after what the system has taken.
    public func end() {
        if isOver { return }
        isOver = true
        loop.willClose(self)
    }

    /// Sends on.
    /// - Returns: whether nothing is left.
    @discardableResult
    func flush() -> Bool {
        while sent < rest.count {
            let count = rest.withUnsafeBytes { bytes in
                send(descriptor, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                if code != EAGAIN { end() }
                return false
            }
            sent += count
        }
        // Bytes that many streams share go when the last one has sent them.
        rest = []
        sent = 0
        return true
    }
}
