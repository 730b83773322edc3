import Glibc
import Synchronization

/// What a receiver does with a request.
public indirect enum ReceiverReply: Sendable {
    /// A well-formed answer; the connection stays open.
    case status(Int, headers: [(String, String)] = [], body: String = "")
    /// These bytes, as they are; the connection stays open.
    case raw(String)
    /// These bytes again and again, until the other side has had enough.
    case flood(String, of: String)
    /// These bytes, and then one byte every so many milliseconds until the other side closes.
    case drip(String, milliseconds: Int)
    /// The other reply, and then the end of the connection.
    case thenClose(ReceiverReply)
    /// Closes without a word.
    case close
    /// Breaks the connection with a TCP reset.
    case reset
    /// The other reply, once the gate is open.
    case held(ReceiverGate, ReceiverReply = .status(200))

    /// Whether the connection goes on.
    func perform(on connection: Int32) -> Bool {
        switch self {
        case .status(let code, let headers, let body):
            let lines = headers.map { "\($0.0): \($0.1)\r\n" }.joined()
            let length = code == 204 || code == 304 ? "" : "content-length: \(body.utf8.count)\r\n"
            return send("HTTP/1.1 \(code) Answer\r\n\(lines)\(length)\r\n\(body)", connection)
        case .raw(let text):
            return send(text, connection)
        case .flood(let head, let text):
            guard send(head, connection) else { return false }
            while send(text, connection) {}
            return false
        case .drip(let head, let milliseconds):
            guard send(head, connection) else { return false }
            while send("x", connection) { usleep(UInt32(milliseconds) * 1000) }
            return false
        case .thenClose(let reply):
            _ = reply.perform(on: connection)
            return false
        case .close:
            return false
        case .reset:
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            return false
        case .held(let gate, let reply):
            gate.wait()
            return reply.perform(on: connection)
        }
    }

    private func send(_ text: String, _ connection: Int32) -> Bool {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}

/// Shut until somebody opens it, once and for all.
public final class ReceiverGate: Sendable {
    private let descriptors: (read: Int32, write: Int32)

    public init() {
        var pair: [Int32] = [0, 0]
        pipe(&pair)
        descriptors = (pair[0], pair[1])
    }

    deinit {
        close(descriptors.read)
        close(descriptors.write)
    }

    public func open() {
        var byte: UInt8 = 0
        _ = write(descriptors.write, &byte, 1)
    }

    /// Blocks the calling thread: a receiver's, never the cooperative pool's.
    fileprivate func wait() {
        var entry = pollfd(fd: descriptors.read, events: Int16(POLLIN), revents: 0)
        while poll(&entry, 1, -1) < 0, errno == EINTR {}
    }
}
