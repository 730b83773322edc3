internal import Synchronization

/// How many connections each client has, over all loops. Asked when a connection is accepted and told when it ends, so
/// the lock is taken twice in a connection's life, not for each request.
final class AddressLimit: Sendable {
    private let limit: Int
    private let counts = Mutex<[PeerAddress: Int]>([:])

    /// - Parameter limit: 0 for none.
    init(limit: Int) {
        self.limit = limit
    }

    /// Two loops that accept at the same moment may both get the last place.
    func hasRoom(for peer: PeerAddress) -> Bool {
        limit == 0 || counts.withLock { $0[peer.client, default: 0] < limit }
    }

    func opened(_ peer: PeerAddress) {
        if limit > 0 { counts.withLock { $0[peer.client, default: 0] += 1 } }
    }

    func closed(_ peer: PeerAddress) {
        if limit == 0 { return }
        counts.withLock { counts in
            let count = counts[peer.client, default: 0] - 1
            counts[peer.client] = count > 0 ? count : nil
        }
    }
}
