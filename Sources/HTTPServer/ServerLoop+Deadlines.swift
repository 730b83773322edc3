internal import CMicrohttpd
import Glibc

// Time. The library's own timeout counts inactivity, so that a client which sends a byte a second stays for ever; it is
// switched off, which also saves its bookkeeping, and every phase of a connection gets an absolute deadline here.
extension ServerLoop {
    func setDeadline(_ connection: Connection, seconds: Int) {
        connection.deadline = now + Int64(seconds) * 1_000_000_000
        nextExpiry = min(nextExpiry, connection.deadline)
    }

    /// Ends what is overdue. Looks at all connections, at most 20 times a second: 2,000 of them are 10 µs or so, and it
    /// costs a request nothing but storing its deadline.
    func expire() {
        var next = Int64.max
        for connection in connections {
            if connection.deadline <= now { expire(connection) }
            next = min(next, connection.deadline)
        }
        nextExpiry = next == .max ? next : max(next, now + 50_000_000)
    }

    private func expire(_ connection: Connection) {
        if connection.isWaiting {
            resume(connection, failure(.timedOut))
        } else {
            connection.deadline = .max
            counters.expiredConnections.addFromOneThread(1)
            // The library sees the end of the stream in its next round and closes the connection.
            shutdown(herald_mhd_descriptor(connection.handle), Int32(SHUT_RDWR))
        }
    }
}
