import CHeraldLinux
import Glibc

/// A counting semaphore for any threads.
package final class Semaphore: Sendable {
    private let descriptor: Int32

    package init() throws(SystemError) {
        descriptor = Int32(try systemCall("eventfd") { Int(herald_eventfd(1)) })
    }

    deinit { close(descriptor) }

    package func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Takes one permit; waits for it if necessary.
    package func wait() {
        while !take() { waitForPermit(milliseconds: -1) }
    }

    /// Takes one permit; waits for it at most this long.
    /// - Returns: whether it got one.
    package func wait(milliseconds: Int32) -> Bool {
        let deadline = Clock.system.monotonic() + Int64(milliseconds) * 1_000_000
        while !take() {
            let rest = deadline - Clock.system.monotonic()
            if rest <= 0 { return false }
            waitForPermit(milliseconds: Int32(clamping: rest / 1_000_000 + 1))
        }
        return true
    }

    // The descriptor is non-blocking, because it shares its constructor with `Wakeup`.
    private func take() -> Bool {
        var count: UInt64 = 0
        return read(descriptor, &count, 8) == 8
    }

    private func waitForPermit(milliseconds: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, milliseconds)
    }
}
