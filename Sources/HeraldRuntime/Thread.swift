import CHeraldLinux
import Glibc
import Synchronization

/// An operating-system thread with a name, for work that must not run on Swift's cooperative pool.
package final class Thread: Sendable {
    // `pthread_t` is an integer on Linux.
    private let handle: pthread_t

    fileprivate final class Start {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts at once.
    /// - Parameter name: as shown by `top -H`; truncated to 15 bytes by the kernel.
    package init(
        name: String, priority: Priority = .normal, body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let start = Unmanaged.passRetained(
            Start {
                herald_name_thread(name)
                switch priority {
                case .prompt: herald_take_short_turns(500_000)
                case .normal: break
                case .low: herald_lower_priority()
                }
                body()
            })
        var handle = pthread_t()
        let code = pthread_create(&handle, nil, threadMain, start.toOpaque())
        if code != 0 {
            start.release()
            throw SystemError(call: "pthread_create", code: code)
        }
        self.handle = handle
    }

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool { pthread_equal(handle, pthread_self()) != 0 }

    /// Waits for the end of the body. Must be called once.
    package func join() {
        pthread_join(handle, nil)
    }

    /// Lets the thread end by itself. Must be called once, instead of `join`.
    package func detach() {
        pthread_detach(handle)
    }

    /// Runs two functions at the same time: `other` on a thread of its own, `own` on the caller's. If no thread can be made, `other`
    /// runs after `own`.
    package static func together<Other: Sendable, Own>(
        name: String, _ other: @escaping @Sendable () -> Other, _ own: () -> Own
    ) -> (other: Other, own: Own) {
        let result = Mutex<Other?>(nil)
        let thread = try? Thread(name: name) {
            let value = other()
            result.withLock { $0 = value }
        }
        let found = own()
        thread?.join()
        return (result.withLock { $0 } ?? other(), found)
    }

    /// The scheduling priority.
    package enum Priority: Sendable {
        /// Others wait for its short work: when it wakes it interrupts a thread that computes for long. It gets no more of
        /// the processor for it.
        case prompt
        case normal
        /// A tenth of the processor time of a normal thread while both compute; does not interrupt others.
        case low
    }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { Unmanaged<Thread.Start>.fromOpaque(argument).takeRetainedValue().run() }
    return nil
}
