import CHeraldReads
import Glibc

// How much libcurl may read from a connection: a receiver that sends without end neither keeps the thread nor the memory.
extension Descriptors {
    /// Bytes that the system keeps of what was received and not read; Linux takes twice as much memory for them.
    private static let receiveBuffer: Int32 = 64 << 10
    /// The reads that libcurl may make: a number of reads, and of bytes.
    private typealias Allowance = (reads: Int32, bytes: Int)

    /// Until the request is sent: the receiver's part of a TLS handshake, with its certificates.
    private static let handshake: Allowance = (1024, 64 << 10)

    /// For a header section, and again for a body, each with what belongs to neither: enough for those that arrive byte
    /// by byte. Over HTTP/2 this is more, because other responses share the connection, and because what was sent of a
    /// body that is cut off still arrives: on the same machine up to 4 MiB, which the system of the receiver holds.
    private static func allowance(_ multi: Multi.Kind) -> Allowance {
        switch multi {
        case .http1: (1024, 48 << 10)
        case .http2: (4096, 8 << 20)
        }
    }

    /// Bounds the reads of a new connection.
    func boundReads(_ descriptor: Int32) {
        guard descriptor >= 0 else { return }
        herald_reads_begin(descriptor, Self.handshake.reads, Self.handshake.bytes)
        var size = Self.receiveBuffer
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The sockets are closed. libcurl has not reported the end of all of them, and the app may give their numbers to others.
    func endReads() { herald_reads_end_all() }

    /// Allows a new connection to send a response: it is ready for the request.
    func allowResponse(_ descriptor: Int32, _ multi: Multi.Kind) {
        let allowance = Self.allowance(multi)
        herald_reads_allow(descriptor, allowance.reads, allowance.bytes)
    }

    /// Allows the next part of a response to the connection whose bytes libcurl handles. That is the one it has read
    /// from last: it also reads from a connection that no event has named, when a timer of its transfer has expired.
    func allowMore(_ multi: Multi.Kind) {
        allowResponse(herald_reads_last(), multi)
    }

    /// Lets libcurl handle what has arrived on a connection, up to the share of one turn.
    func serve(_ descriptor: Int32, now: Int64, _ handle: () -> Void) {
        herald_reads_turn(descriptor, now / 1_000_000)
        handle()
        // For what libcurl reads at other times, such as when it looks whether an idle connection is alive.
        herald_reads_turn(descriptor, now / 1_000_000)
    }
}
