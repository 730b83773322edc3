internal import CHeraldMicrohttpd
import Glibc
internal import Synchronization

// Deadlines. The library's own timeout counts inactivity, so a client that sends a byte per second would stay for ever.
// It is switched off, which also saves its bookkeeping, and every phase of a connection gets an absolute deadline here.
extension ServerLoop {
    /// How long after a response the client's side of the connection is checked. An end that arrived together with the
    /// request is not reported again: the library has read the bytes, and waits for more.
    static let unseenNanoseconds: Int64 = 500_000_000
    /// The minimum time for a request to become complete, when places are needed.
    private static let patienceNanoseconds: Int64 = 1_000_000_000
    /// The pause after a search for places that found none.
    private static let pauseNanoseconds: Int64 = 100_000_000

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
    func expire() {
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
            resume(connection, failure(.timedOut))
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
    func lookAtFirst() {
        if answeredFirst.isEmpty { return }
        for connection in answeredFirst where connection.phase == .idle {
            guard hasEnded(herald_mhd_descriptor(connection.handle)) else { continue }
            cut(connection, isLate: false)
            mustRunAgain = true
        }
        answeredFirst.removeAll(keepingCapacity: answeredFirst.capacity <= 1024)
    }

    /// The library sees the end of the stream in its next round and closes the connection.
    private func cut(_ connection: ClientConnection, isLate: Bool) {
        connection.deadline = .max
        if isLate { counters.expiredConnections.addFromOneThread(1) }
        shutdown(herald_mhd_descriptor(connection.handle), Int32(SHUT_RDWR))
    }

    /// All places are taken, and new clients wait for one, which the loop can't see. So the connections that are idle
    /// longest are closed; if there are none, those whose request is incomplete longest, but not within its first
    /// second. Several at once, so that the search pays off.
    func makeRoom() {
        guard connections.count >= maxConnections, isAccepting.load(ordering: .relaxed) else { return }
        if now < nextRoom { return }
        var candidates: [(rank: Int64, connection: ClientConnection)] = []
        for connection in connections where connection.deadline != .max {
            switch connection.phase {
            case .idle: candidates.append((connection.since - now, connection))
            case .head, .body:
                let age = now - connection.since
                if age >= Self.patienceNanoseconds { candidates.append((.max - age, connection)) }
            default: break
            }
        }
        candidates.sort { $0.rank < $1.rank }
        for candidate in candidates.prefix(max(maxConnections / 32, 1)) { cut(candidate.connection, isLate: true) }
        if candidates.isEmpty {
            nextRoom = now + Self.pauseNanoseconds
            nextExpiry = min(nextExpiry, nextRoom)
        } else {
            mustRunAgain = true
        }
    }
}
