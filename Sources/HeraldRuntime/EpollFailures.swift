import Synchronization

/// The changes of registrations that epoll has refused, of all threads of the process. Any thread.
///
/// Descriptors that cannot be watched are not served until a timer expires, so they are reported to operators.
package enum EpollFailures {
    package typealias Observer = @Sendable (_ error: SystemError, _ count: Int) -> Void

    private struct State {
        var count = 0
        var observer: Observer?
    }

    private static let state = Mutex(State())

    /// The number since the process started.
    package static var count: Int { state.withLock { $0.count } }

    /// Sets the function that is called with each failure, on the thread that it happens on, and with their number.
    package static func observe(_ observer: Observer?) {
        state.withLock { $0.observer = observer }
    }

    static func report(_ error: SystemError) {
        let (observer, count) = state.withLock { state in
            state.count += 1
            return (state.observer, state.count)
        }
        observer?(error, count)
    }
}
