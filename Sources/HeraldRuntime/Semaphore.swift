import CHeraldLinux
import Glibc

/// A counting semaphore for any threads. Unlike a `Wakeup` it cannot be polled. A wait is one system call, and a signal is none
/// while no thread waits.
package final class Semaphore: Sendable {
    // Written before the object is shared and freed after it; the C library counts in it with atomic operations.
    nonisolated(unsafe) private let permits: UnsafeMutablePointer<sem_t> = .allocate(capacity: 1)

    package init() {
        // Fails only for a count that is too large.
        sem_init(permits, 0, 0)
    }

    deinit {
        sem_destroy(permits)
        permits.deallocate()
    }

    package func signal() { sem_post(permits) }

    /// Takes one permit; waits for it if necessary.
    package func wait() {
        while sem_wait(permits) != 0 {}
    }

    /// Takes one permit; waits for it at most this long (negative: without limit).
    /// - Returns: whether it got one.
    @discardableResult
    package func wait(milliseconds: Int32) -> Bool {
        if milliseconds < 0 {
            wait()
            return true
        }
        let (seconds, nanoseconds) = (Clock.system.monotonic() + Int64(milliseconds) * 1_000_000)
            .quotientAndRemainder(dividingBy: 1_000_000_000)
        var deadline = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
        while herald_sem_wait(permits, &deadline) != 0 {
            if errno == ETIMEDOUT { return false }
        }
        return true
    }
}
