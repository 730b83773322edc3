import Glibc
import HeraldRuntime

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
        var multi = Multi.Kind.http1
        /// HTTP/2 is spoken on it: frames may come while no request is open.
        var carriesFrames = false
    }

    let epoll: Epoll
    /// By descriptor.
    private var entries: [Entry] = []

    init() throws(SystemError) {
        epoll = try Epoll()
    }

    /// What libcurl waits for on a socket; `nothing`: the transfer that used it has ended.
    func want(_ descriptor: Int32, read: Bool, write: Bool, nothing: Bool, _ multi: Multi.Kind) {
        let index = Int(descriptor)
        guard index >= 0 else { return }
        if index >= entries.count {
            entries.append(contentsOf: repeatElement(Entry(), count: index + 64 - entries.count))
        }
        entries[index].isWanted = !nothing
        // An idle connection may be writable, and is no less alive for it: what would end it is something to read.
        if nothing {
            if entries[index].registered.contains(.write) { watch(descriptor, .read) }
            return
        }
        entries[index].multi = multi
        var interest: Epoll.Interest = []
        if read { interest.insert(.read) }
        if write { interest.insert(.write) }
        if interest != entries[index].registered, !interest.isEmpty { watch(descriptor, interest) }
    }

    /// A transfer whose socket can't be watched ends by its timeout.
    private func watch(_ descriptor: Int32, _ interest: Epoll.Interest) {
        let index = Int(descriptor)
        if entries[index].registered.isEmpty {
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

    /// HTTP/2 is spoken on this socket.
    func carriesFrames(_ descriptor: Int32) {
        let index = Int(descriptor)
        if entries.indices.contains(index) { entries[index].carriesFrames = true }
    }

    /// Who waits for this socket, which was found ready. When nobody does, the receiver has closed the connection or sent
    /// what nobody asked for. On HTTP/1.1 the connection is made unusable then, so that libcurl finds it dead, and those
    /// bytes are never taken for the answer to the next request. On HTTP/2 they wait until libcurl looks at them, which it
    /// does before the connection is used again.
    func waiting(for descriptor: Int32) -> Multi.Kind? {
        let index = Int(descriptor)
        guard entries.indices.contains(index) else { return nil }
        if entries[index].isWanted { return entries[index].multi }
        guard !entries[index].registered.isEmpty else { return nil }
        entries[index].registered = []
        try? epoll.remove(descriptor)
        if entries[index].carriesFrames { return nil }
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            // Bounded: a receiver that goes on sending finds the connection shut.
            var reads = 0
            while reads < 16, recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 {
                reads += 1
            }
        }
        shutdown(descriptor, Int32(SHUT_RDWR))
        return nil
    }
}
