internal import Synchronization

/// Counts the connections of each client, over all loops. Used when a connection is accepted and when it ends, so the
/// lock is taken twice in a connection's life, not for each request.
final class AddressLimit: Sendable {
    private let limit: Int
    private let counts = Mutex<[PeerAddress: Int]>([:])

    /// - Parameter limit: 0 for no limit.
    init(limit: Int) {
        self.limit = limit
    }

    /// Two loops that accept at the same time may both use the last place.
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
