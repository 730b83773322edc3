internal import CHeraldMicrohttpd
internal import Synchronization

// Requests whose answer comes later. To suspend a connection and resume it takes two calls of `epoll_ctl` and a `recv` that
// finds nothing, 2 µs in all: more than to be asked for the answer some times. Most answers come with the next commit, so the
// library goes on asking at first. It asks in each run, and says that it has work left as long as it does; `run` therefore
// looks at it again after a millisecond only, unless something else has happened. What takes longer is suspended.
extension ServerLoop {
    /// Runs of the library, which may follow each other at once or take a millisecond each.
    private static let pollsBeforeSuspend = 16

    func beginWait(of connection: ClientConnection) {
        connection.phase = .waiting
        connection.pollsLeft = Self.pollsBeforeSuspend
        asked += 1
        counters.waitingRequests.addFromOneThread(1)
        setDeadline(connection, seconds: configuration.answerDeadlineSeconds)
    }

    /// The library asks. It closes the connection when this returns `false`.
    func goOnWaiting(_ connection: ClientConnection) -> Bool {
        connection.pollsLeft -= 1
        if connection.pollsLeft <= 0 {
            asked -= 1
            connection.phase = .suspended
            MHD_suspend_connection(connection.handle)
        }
        return true
    }

    /// Before the phase changes: there is an answer, or nobody wants it any more.
    func endWait(of connection: ClientConnection) {
        if connection.phase == .waiting { asked -= 1 }
        counters.waitingRequests.addFromOneThread(-1)
    }
}
