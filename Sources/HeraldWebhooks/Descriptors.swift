import CHeraldReads
import Glibc
import HeraldRuntime

/// The registrations of libcurl's sockets in epoll.
///
/// A socket stays registered when its transfer ends, because the next transfer on the connection uses it again: this
/// saves two of five system calls per callback (18.3 µs instead of 23.3). It is removed when it is closed, or when it
/// becomes ready while no transfer uses it.
///
/// A registration has the life of its socket: it begins when libcurl opens the socket. Its end is not always reported,
/// because libcurl closes a socket whose connection was never established by itself, and only then says that the
/// transfer has ended. Owned by one sender and confined to its thread.
final class Descriptors {
    private struct Entry {
        /// The registered interest; empty if there is none.
        var registered: Epoll.Interest = []
        var isWanted = false
        var multi = Multi.Kind.http1
        /// The connection uses HTTP/2: frames may arrive while no request is open.
        var carriesFrames = false
        /// From the opening of a connection with TLS until its first request.
        var isInHandshake = false
    }

    let epoll: Epoll
    /// By descriptor.
    private var entries: [Entry] = []

    init() throws(SystemError) {
        epoll = try Epoll()
    }

    /// An entry that has never been set is empty. Negative descriptors have none.
    private subscript(descriptor: Int32) -> Entry {
        get { entries.indices.contains(Int(descriptor)) ? entries[Int(descriptor)] : Entry() }
        set {
            let index = Int(descriptor)
            guard index >= 0 else { return }
            if index >= entries.count {
                entries.append(contentsOf: repeatElement(Entry(), count: index + 64 - entries.count))
            }
            entries[index] = newValue
        }
    }

    /// Called when a socket was opened: the one that had its number before is closed.
    func begin(_ descriptor: Int32, isSecure: Bool) {
        self[descriptor] = Entry(isInHandshake: isSecure)
        boundReads(descriptor)
    }

    /// The connection is ready for its first request.
    func isReady(_ descriptor: Int32, _ multi: Multi.Kind) {
        self[descriptor].isInHandshake = false
        allowResponse(descriptor, multi)
    }

    /// Whether a step of the connection may cost much more than a usual response: a step of a TLS handshake, or the
    /// bytes of a receiver that has sent more than that.
    func isExpensive(_ descriptor: Int32) -> Bool {
        let entry = self[descriptor]
        return entry.isWanted && (entry.isInHandshake || herald_reads_are_many(descriptor) != 0)
    }

    /// Sets what libcurl waits for on a socket; `nothing` if the transfer that used it has ended.
    func want(_ descriptor: Int32, read: Bool, write: Bool, nothing: Bool, _ multi: Multi.Kind) {
        guard descriptor >= 0 else { return }
        if nothing { return end(descriptor) }
        self[descriptor].isWanted = true
        self[descriptor].multi = multi
        var interest: Epoll.Interest = []
        if read { interest.insert(.read) }
        if write { interest.insert(.write) }
        if interest != self[descriptor].registered, !interest.isEmpty { watch(descriptor, interest) }
    }

    /// The transfer has ended. An idle connection may be writable, which means nothing; it ends with an event to read.
    private func end(_ descriptor: Int32) {
        self[descriptor].isWanted = false
        guard self[descriptor].registered.contains(.write) else { return }
        if epoll.modifyIfOpen(descriptor, .read) {
            self[descriptor].registered = .read
        } else {
            self[descriptor] = Entry()
        }
    }

    /// If a socket cannot be registered, which is counted, its transfer ends with a timeout.
    private func watch(_ descriptor: Int32, _ interest: Epoll.Interest) {
        let isKnown = !self[descriptor].registered.isEmpty
        let isWatched =
            isKnown && epoll.modifyIfOpen(descriptor, interest) || (try? epoll.add(descriptor, interest)) != nil
        self[descriptor].registered = isWatched ? interest : []
    }

    /// Called before the socket is closed, which removes it from epoll.
    func forget(_ descriptor: Int32) {
        herald_reads_end(descriptor)
        self[descriptor] = Entry()
    }

    /// Records that the connection uses HTTP/2.
    func carriesFrames(_ descriptor: Int32) { self[descriptor].carriesFrames = true }

    /// The multi handle that uses a ready socket. If none does, the receiver has closed the connection or sent
    /// unrequested bytes. An HTTP/1.1 connection is then made unusable, so that libcurl finds it dead and never takes
    /// those bytes for the response to the next request. On HTTP/2 the bytes wait for libcurl, which reads them before
    /// it uses the connection again.
    func waiting(for descriptor: Int32) -> Multi.Kind? {
        let entry = self[descriptor]
        if entry.isWanted { return entry.multi }
        guard !entry.registered.isEmpty else { return nil }
        self[descriptor].registered = []
        try? epoll.remove(descriptor)
        if entry.carriesFrames { return nil }
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            // Bounded: if the receiver keeps sending, the connection is already shut down.
            var reads = 0
            while reads < 16, recvfrom(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT), nil, nil) > 0
            {
                reads += 1
            }
        }
        shutdown(descriptor, Int32(SHUT_RDWR))
        return nil
    }
}
