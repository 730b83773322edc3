import CHeraldLinux
import Glibc

/// An epoll instance, used by one thread.
public final class Epoll {
    /// The events to watch a descriptor for, or the events that occurred.
    public struct Interest: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let read = Interest(rawValue: herald_epollin())
        public static let write = Interest(rawValue: herald_epollout())
        /// The other side will send nothing more.
        public static let hangUp = Interest(rawValue: herald_epollrdhup())
        /// Reported even if not requested.
        public static let error = Interest(rawValue: herald_epollerr())
    }

    /// Readable when something is ready, so it can be polled itself.
    public let descriptor: Int32
    private let events: UnsafeMutablePointer<epoll_event>
    private let capacity: Int

    /// - Parameter capacity: the maximum number of descriptors reported by one `wait`.
    public init(capacity: Int = 256) throws(SystemError) {
        descriptor = Int32(try systemCall("epoll_create1") { Int(herald_epoll_create()) })
        events = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    deinit {
        close(descriptor)
        events.deallocate()
    }

    public func add(_ fd: Int32, _ interest: Interest) throws(SystemError) {
        try control(EPOLL_CTL_ADD, fd, interest)
    }

    public func modify(_ fd: Int32, _ interest: Interest) throws(SystemError) {
        try control(EPOLL_CTL_MOD, fd, interest)
    }

    public func remove(_ fd: Int32) throws(SystemError) {
        try control(EPOLL_CTL_DEL, fd, [])
    }

    private func control(_ operation: Int32, _ fd: Int32, _ interest: Interest) throws(SystemError) {
        var event = epoll_event()
        event.events = interest.rawValue
        event.data.fd = fd
        _ = try systemCall("epoll_ctl") { Int(epoll_ctl(descriptor, operation, fd, &event)) }
    }

    /// Sleeps until something is ready, at most for `milliseconds` (negative: without limit), and reports it. An
    /// interruption by a signal reports nothing.
    public func wait(milliseconds: Int32, _ ready: (_ fd: Int32, _ interest: Interest) -> Void) {
        let count = epoll_wait(descriptor, events, Int32(capacity), milliseconds)
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            ready(events[index].data.fd, Interest(rawValue: events[index].events))
        }
    }
}
