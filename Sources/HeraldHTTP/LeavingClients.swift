import CHeraldMicrohttpd
import Glibc
internal import HeraldRuntime

/// The sockets of clients that were sent their last response. Closing a socket that has unread bytes, or receives more,
/// resets the connection, and a reset can destroy the response before the client has read it (RFC 9112, 9.6). So
/// further bytes are read and discarded until the client closes, for a bounded time and number of bytes.
///
/// One loop's thread only.
struct LeavingClients {
    fileprivate struct Client {
        /// `nil` if it does not count towards the limit of an address.
        let peer: PeerAddress?
        let deadline: Int64
        /// The unsent part of the response.
        var unsent: [UInt8]
        /// The number of bytes that it may still send.
        var room: Int
    }

    private static let maxClients = 1024
    /// The time limit of each client.
    static let nanoseconds: Int64 = 2_000_000_000

    private let epoll: Epoll
    private let addresses: AddressLimit
    private let maxBytes: Int
    private var clients: [Int32: Client] = [:]
    private var ready: [Int32] = []

    /// - Parameter maxBytes: the limit of bytes read from each client.
    init(addresses: AddressLimit, maxBytes: Int) throws(SystemError) {
        epoll = try Epoll()
        self.addresses = addresses
        self.maxBytes = maxBytes
    }

    /// Readable when there is something to do.
    var descriptor: Int32 { epoll.descriptor }
    var isEmpty: Bool { clients.isEmpty }

    /// Takes ownership of the descriptor, and of its place in the limit of its address.
    mutating func add(_ descriptor: Int32, _ peer: PeerAddress?, unsent: [UInt8], now: Int64) {
        var client = Client(peer: peer, deadline: now + Self.nanoseconds, unsent: unsent, room: maxBytes)
        client.send(on: descriptor)
        let interest: Epoll.Interest = client.unsent.isEmpty ? .read : [.read, .write]
        guard clients.count < Self.maxClients, (try? epoll.add(descriptor, interest)) != nil else {
            return end(descriptor, client)
        }
        clients[descriptor] = client
    }

    /// Reads available bytes.
    mutating func check() {
        ready.removeAll(keepingCapacity: true)
        epoll.wait(milliseconds: 0) { descriptor, _ in ready.append(descriptor) }
        for descriptor in ready {
            guard var client = clients.removeValue(forKey: descriptor) else { continue }
            if !client.unsent.isEmpty {
                client.send(on: descriptor)
                if client.unsent.isEmpty { try? epoll.modify(descriptor, .read) }
            }
            if client.discard(from: descriptor) { clients[descriptor] = client } else { end(descriptor, client) }
        }
    }

    /// The earliest deadline.
    var nextDeadline: Int64 { clients.values.lazy.map(\.deadline).min() ?? .max }

    /// Closes clients beyond their deadline.
    mutating func expire(now: Int64) {
        for (descriptor, client) in clients where client.deadline <= now {
            clients[descriptor] = nil
            end(descriptor, client)
        }
    }

    mutating func endAll() {
        for (descriptor, client) in clients { end(descriptor, client) }
        clients = [:]
    }

    private func end(_ descriptor: Int32, _ client: Client) {
        close(descriptor)
        if let peer = client.peer { addresses.closed(peer) }
    }
}

extension LeavingClients.Client {
    /// Continues sending, and shuts down the sending side at the end.
    fileprivate mutating func send(on descriptor: Int32) {
        while !unsent.isEmpty {
            let count = unsent.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count < 0 {
                if errno == EINTR { continue }
                return
            }
            unsent.removeFirst(count)
        }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// - Returns: `false` if the client has closed, or has sent too much.
    fileprivate mutating func discard(from descriptor: Int32) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count < 0 { return errno == EAGAIN || errno == EINTR }
                room -= count
                if count == 0 || room < 0 { return false }
            }
        }
    }
}
