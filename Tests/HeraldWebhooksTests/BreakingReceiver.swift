import Glibc
import HeraldRuntime
import HeraldTestSupport
import Synchronization

/// Answers one request on its first connection, and breaks that connection when it has taken a little of the second. On
/// its second connection it answers after 8,000,000 bytes. Ends with that, or with the process.
final class BreakingReceiver: Sendable {
    enum Ending: CaseIterable, Sendable {
        /// A TCP reset.
        case reset
        /// It says that it won't send anything, takes some more, and is reset then.
        case halfClosed
    }

    let url: String
    private let count = Atomic(0)

    init(_ ending: Ending) throws {
        let (listener, port) = try listenOnLoopback()
        url = "http://127.0.0.1:\(port)/"
        _ = try Thread(name: "breaking") { [self] in
            pthread_detach(pthread_self())
            serve(listener, ending)
            close(listener)
        }
    }

    var connectionCount: Int { count.load(ordering: .relaxed) }

    private func serve(_ listener: Int32, _ ending: Ending) {
        let first = accept(listener, nil, nil)
        count.store(1, ordering: .relaxed)
        guard take(1, from: first), answer(first), take(1, from: first) else { return }
        if ending == .halfClosed {
            shutdown(first, Int32(SHUT_WR))
            _ = take(1_000_000, from: first)
        }
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(first, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close(first)
        let second = accept(listener, nil, nil)
        count.store(2, ordering: .relaxed)
        _ = take(8_000_000, from: second) && answer(second)
        close(second)
    }

    /// Reads until that many bytes have come, or a few more.
    private func take(_ count: Int, from connection: Int32) -> Bool {
        var taken = 0
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while taken < count {
            let got = read(connection, &buffer, buffer.count)
            guard got > 0 else { return false }
            taken += got
        }
        return true
    }

    private func answer(_ connection: Int32) -> Bool {
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
        return send(connection, text, text.utf8.count, Int32(MSG_NOSIGNAL)) > 0
    }
}
