internal import CHeraldMicrohttpd
internal import Synchronization

// Requests whose response comes later. Suspending and resuming a connection takes two calls of `epoll_ctl` and a `recv`
// that finds nothing, 2 µs in all: more than some polls. Most responses come with the next commit, so the library polls
// at first. It polls in each run, and reports remaining work until then; so `run` calls it again only after a
// millisecond, unless something else happens. Connections that wait longer are suspended.
extension ServerLoop {
    /// Runs of the library, which may follow each other at once or after a millisecond each.
    private static let pollsBeforeSuspend = 16

    func beginWait(of connection: ClientConnection) {
        connection.phase = .waiting
        connection.pollsLeft = Self.pollsBeforeSuspend
        asked += 1
        counters.waitingRequests.addFromOneThread(1)
        setDeadline(connection, seconds: configuration.answerDeadlineSeconds)
    }

    /// The library polls. It closes the connection if this returns `false`.
    func keepWaiting(_ connection: ClientConnection) -> Bool {
        connection.pollsLeft -= 1
        if connection.pollsLeft <= 0 {
            asked -= 1
            connection.phase = .suspended
            MHD_suspend_connection(connection.handle)
        }
        return true
    }

    /// Before the phase changes: there is a response, or it is not needed any more.
    func endWait(of connection: ClientConnection) {
        if connection.phase == .waiting { asked -= 1 }
        counters.waitingRequests.addFromOneThread(-1)
    }
}
