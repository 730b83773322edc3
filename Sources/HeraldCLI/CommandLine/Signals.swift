import Glibc
import HeraldRuntime

/// TERM and INT, and for the server HUP, as values that one thread waits for, instead of handlers that interrupt any thread.
struct Signals {
    private var set = sigset_t()

    /// Blocks the signals in the calling thread and all threads that it starts: must be created before any other
    /// thread.
    /// - Parameter reloads: takes HUP, too. Otherwise it ends the process, as when its terminal is closed.
    init(reloads: Bool = false) {
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT] + (reloads ? [SIGHUP] : []) { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
        // A file beyond the size that the system grants the process is an error of its write, not the end of the process.
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Waits for the next TERM or INT and returns its name.
    /// - Parameter reload: called for each HUP in the meantime.
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

    /// Calls the closure with the name of each TERM or INT and the number of those before, on a thread of its own.
    func observe(_ each: @escaping @Sendable (String, Int) -> Void) throws(CommandError) {
        do throws(SystemError) {
            let thread = try Thread(name: "signals") {
                for count in 0... { each(waitForStop(), count) }
            }
            thread.detach()
        } catch {
            throw CommandError("No thread can be started: \(error).", exitCode: ExitCode.software)
        }
    }

    /// Waits for a TERM or INT for some time.
    /// - Returns: whether there was one.
    func stop(withinMilliseconds milliseconds: Int) -> Bool {
        var stops = sigset_t()
        sigemptyset(&stops)
        for signal in [SIGTERM, SIGINT] { sigaddset(&stops, signal) }
        var time = Self.time(milliseconds: milliseconds)
        return sigtimedwait(&stops, nil, &time) > 0
    }

    /// A time as the system takes it: it refuses a second or more in the nanoseconds, and then does not wait.
    static func time(milliseconds: Int) -> timespec {
        timespec(tv_sec: milliseconds / 1_000, tv_nsec: milliseconds % 1_000 * 1_000_000)
    }
}
