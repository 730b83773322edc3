import CHeraldLinux
import Glibc

/// An epoll instance, used by one thread.
///
/// Each registration has a generation. A closed descriptor leaves epoll by itself, and its number is used again: an event
/// of the closed descriptor that the kernel has already reported is not taken for one of its successor.
package final class Epoll {
    /// The events to watch a descriptor for, or the events that occurred.
    package struct Interest: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        package static let read = Interest(rawValue: herald_epollin())
        package static let write = Interest(rawValue: herald_epollout())
        /// The other side will send nothing more.
        package static let hangUp = Interest(rawValue: herald_epollrdhup())
        /// Reported even if not requested.
        package static let error = Interest(rawValue: herald_epollerr())
    }

    /// Readable when something is ready, so it can be polled itself.
    package let descriptor: Int32
    private let events: UnsafeMutablePointer<epoll_event>
    private let capacity: Int
    /// The number of registrations so far of each descriptor.
    private var generations: [UInt32] = []

    /// - Parameter capacity: the maximum number of descriptors reported by one `wait`.
    package init(capacity: Int = 256) throws(SystemError) {
        descriptor = Int32(try systemCall("epoll_create1") { Int(herald_epoll_create()) })
        events = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit {
        close(descriptor)
        events.deallocate()
    }

    package func add(_ fd: Int32, _ interest: Interest) throws(SystemError) {
        let index = Int(fd)
        if index >= generations.count {
            generations.append(contentsOf: repeatElement(0, count: index + 64 - generations.count))
        }
        if index >= 0 { generations[index] &+= 1 }
        try counted(EPOLL_CTL_ADD, fd, interest)
    }

    package func modify(_ fd: Int32, _ interest: Interest) throws(SystemError) {
        try counted(EPOLL_CTL_MOD, fd, interest)
    }

    /// Changes the interest in a descriptor that may be closed.
    /// - Returns: whether it is still registered.
    package func modifyIfOpen(_ fd: Int32, _ interest: Interest) -> Bool {
        (try? control(EPOLL_CTL_MOD, fd, interest)) != nil
    }

    /// A descriptor that was closed before cannot be removed, which is not counted as a failure.
    package func remove(_ fd: Int32) throws(SystemError) {
        try control(EPOLL_CTL_DEL, fd, [])
    }

    private func counted(_ operation: Int32, _ fd: Int32, _ interest: Interest) throws(SystemError) {
        do throws(SystemError) {
            try control(operation, fd, interest)
        } catch {
            EpollFailures.report(error)
            throw error
        }
    }

    private func control(_ operation: Int32, _ fd: Int32, _ interest: Interest) throws(SystemError) {
        var event = epoll_event()
        event.events = interest.rawValue
        event.data.u64 = UInt64(generation(fd)) << 32 | UInt64(UInt32(bitPattern: fd))
        _ = try systemCall("epoll_ctl") { Int(epoll_ctl(descriptor, operation, fd, &event)) }
    }

    private func generation(_ fd: Int32) -> UInt32 {
        generations.indices.contains(Int(fd)) ? generations[Int(fd)] : 0
    }

    /// Sleeps until something is ready, at most for `milliseconds` (negative: without limit), and reports it. An
    /// interruption by a signal reports nothing.
    package func wait(milliseconds: Int32, _ ready: (_ fd: Int32, _ interest: Interest) -> Void) {
        let count = epoll_wait(descriptor, events, Int32(capacity), milliseconds)
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            let data = events[index].data.u64
            let fd = Int32(bitPattern: UInt32(truncatingIfNeeded: data))
            // The handling of an earlier event may have closed it, and registered another one with this number.
            guard UInt32(truncatingIfNeeded: data >> 32) == generation(fd) else { continue }
            ready(fd, Interest(rawValue: events[index].events))
        }
    }
}
