import Glibc

/// TERM, INT and HUP as values that one thread waits for, instead of handlers that interrupt any.
struct Signals {
    private var set = sigset_t()

    /// Holds the signals back from the calling thread and all that it starts: to be made before any other thread.
    init() {
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// The name of the next TERM or INT. Waits.
    /// - Parameter reload: called for each HUP meanwhile.
    func waitForStop(_ reload: () -> Void = {}) -> String {
        var set = set
        while true {
            var signal: Int32 = 0
            guard sigwait(&set, &signal) == 0 else { continue }
            if signal == SIGTERM { return "TERM" }
            if signal == SIGINT { return "INT" }
            if signal == SIGHUP { reload() }
        }
    }
}
