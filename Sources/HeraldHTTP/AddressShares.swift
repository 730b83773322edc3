/// How many of a number of places each client has, and whether it has more than its share of them.
///
/// A client's share is a multiple of the places that are free. So with any number of clients that take all they can get,
/// some places stay free for others: with a factor of two, one such client gets two thirds of the places, four get two
/// ninths each, and forty a fortieth each.
struct AddressShares: Sendable {
    /// A share is never smaller, so that a few places are not divided at all.
    private static let minimum = 4

    private let places: Int
    private let factor: Int
    private var counts: [PeerAddress: Int] = [:]
    private(set) var total = 0

    init(places: Int, factor: Int) {
        self.places = places
        self.factor = factor
    }

    mutating func add(_ peer: PeerAddress) {
        counts[peer.client, default: 0] += 1
        total += 1
    }

    mutating func remove(_ peer: PeerAddress) {
        total -= 1
        let count = count(of: peer) - 1
        counts[peer.client] = count > 0 ? count : nil
    }

    func count(of peer: PeerAddress) -> Int { counts[peer.client, default: 0] }

    /// How many places the client has beyond its share; 0 if none.
    /// - Parameter others: further places that are taken.
    func excess(of peer: PeerAddress, others: Int = 0) -> Int {
        let free = max(0, places - total - others)
        return max(0, count(of: peer) - max(Self.minimum, factor * free))
    }
}
