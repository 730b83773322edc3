import CLinux
import Glibc

/// Counts permits; any thread signals, any thread waits.
public final class Semaphore: Sendable {
    private let descriptor: Int32

    public init() throws(SystemError) {
        descriptor = Int32(try systemCall("eventfd") { Int(herald_eventfd(1)) })
    }

    deinit { close(descriptor) }

    public func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    /// Takes one permit, waiting until there is one.
    public func wait() {
        var count: UInt64 = 0
        // The descriptor does not block, since it shares its constructor with `Wakeup`.
        while read(descriptor, &count, 8) < 0 {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&entry, 1, -1)
        }
    }
}
