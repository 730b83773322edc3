import CHeraldLinux
import Glibc

/// An eventfd with which one thread wakes another. A wakeup is never lost and costs nothing while the other thread is
/// awake.
///
/// Any thread may call `signal`; one thread waits or polls `descriptor`.
package final class Wakeup: Sendable {
    /// For `poll` and epoll; readable while a signal is pending. Owned by this object.
    package let descriptor: Int32

    package init() throws(SystemError) {
        descriptor = Int32(try systemCall("eventfd") { Int(herald_eventfd()) })
    }

    deinit { close(descriptor) }

    /// Makes `descriptor` readable. Never blocks: if the counter is full, a wakeup is pending anyway.
    package func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Clears all pending signals. Never blocks.
    package func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }

    /// Sleeps until a signal or for `milliseconds` (negative: without limit), and clears the signals.
    package func wait(milliseconds: Int32 = -1) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
        clear()
    }
}
