import Glibc
import Runtime

/// What epoll knows of libcurl's sockets.
///
/// A socket stays in epoll when a transfer ends, because the next one on the same connection will want it again:
/// that saves two system calls of five for each callback (18.3 µs instead of 23.3). It leaves when it is closed, or
/// when it becomes ready while nobody waits for it. Belongs to one sender and its thread.
final class Descriptors {
    private struct Entry {
        /// What epoll has; empty: nothing.
        var registered: Epoll.Interest = []
        var isWanted = false
    }

    let epoll: Epoll
    /// By descriptor.
    private var entries: [Entry] = []

    init() throws(SystemError) {
        epoll = try Epoll()
    }

    /// What libcurl waits for on a socket; `nothing`: the transfer that used it has ended.
    func want(_ descriptor: Int32, read: Bool, write: Bool, nothing: Bool) {
        let index = Int(descriptor)
        guard index >= 0 else { return }
        if index >= entries.count {
            entries.append(contentsOf: repeatElement(Entry(), count: index + 64 - entries.count))
        }
        entries[index].isWanted = !nothing
        if nothing { return }
        var interest: Epoll.Interest = []
        if read { interest.insert(.read) }
        if write { interest.insert(.write) }
        let registered = entries[index].registered
        guard interest != registered, !interest.isEmpty else { return }
        // A transfer whose socket can't be watched ends by its timeout.
        if registered.isEmpty {
            do {
                try epoll.add(descriptor, interest)
            } catch {
                try? epoll.modify(descriptor, interest)
            }
        } else {
            try? epoll.modify(descriptor, interest)
        }
        entries[index].registered = interest
    }

    /// The socket is about to be closed, which takes it out of epoll.
    func forget(_ descriptor: Int32) {
        let index = Int(descriptor)
        if entries.indices.contains(index) { entries[index] = Entry() }
    }

    /// Whether a transfer waits for this socket, which was found ready. When none does, the receiver has closed the
    /// connection or sent what nobody asked for: the connection is made unusable, so that libcurl finds it dead, and
    /// those bytes are never taken for the answer to the next request.
    func isWanted(_ descriptor: Int32) -> Bool {
        let index = Int(descriptor)
        guard entries.indices.contains(index) else { return false }
        if entries[index].isWanted { return true }
        guard !entries[index].registered.isEmpty else { return false }
        entries[index].registered = []
        try? epoll.remove(descriptor)
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            // Bounded: a receiver that goes on sending finds the connection shut.
            var reads = 0
            while reads < 16, recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {
                reads += 1
            }
        }
        shutdown(descriptor, Int32(SHUT_RDWR))
        return false
    }
}
