import CHeraldMicrohttpd
import Glibc
internal import HeraldRuntime

/// Feeds a stream. Called on the streams' thread, which all streams share: must not wait.
package protocol ResponseStreamDelegate: AnyObject, Sendable {
    /// The first call: the header section was sent.
    func opened(_ stream: ResponseStream)
    /// The client has read all that was written: there is space again.
    func drained(_ stream: ResponseStream)
    /// The last call: the client has disconnected, was cut off, or the stream was ended.
    func closed(_ stream: ResponseStream)
}

/// A streaming response. All mutable state belongs to the streams' thread and is used only there, which is why
/// `@unchecked Sendable` is correct.
package final class ResponseStream: @unchecked Sendable {
    package let loop: StreamLoop
    let holder: StreamHolder
    let descriptor: Int32
    let rules: StreamRules
    let delegate: any ResponseStreamDelegate

    /// Bytes that the socket has not accepted: a reference to the array as it was passed, and an offset.
    private var rest: [UInt8] = []
    private var sent = 0
    /// When the client fell behind; if it is not behind, when the last bytes were written.
    private(set) var since: Int64
    /// To be closed at the end of the round.
    private(set) var isOver = false
    /// The index in the loop's list.
    var index = 0

    init(_ loop: StreamLoop, _ start: StreamStart, _ descriptor: Int32, now: Int64) {
        self.loop = loop
        holder = start.holder
        self.descriptor = descriptor
        rules = start.rules
        delegate = start.delegate
        since = now
    }

    package var peer: PeerAddress { holder.peer }

    /// Written bytes still wait for the client. Write nothing more until `drained`.
    package var isFull: Bool { sent < rest.count }

    /// Passes the bytes to the system; the rest is kept, without a copy, and sent later.
    package func write(_ bytes: [UInt8]) {
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

    /// Ends the stream after the bytes that the system has accepted.
    package func end() {
        if isOver { return }
        isOver = true
        loop.willClose(self)
    }

    /// Continues sending.
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
        // Releases bytes that many streams share when the last one has sent them.
        rest = []
        sent = 0
        return true
    }
}
