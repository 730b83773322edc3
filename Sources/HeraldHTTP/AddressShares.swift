import HeraldRuntime

/// The shares of clients, by their addresses.
struct AddressShares: Sendable {
    private var shares: Shares<PeerAddress>

    /// A few are not divided at all.
    init(places: Int, factor: Int) { shares = Shares(slots: places, factor: factor, minimum: 4) }

    var total: Int { shares.total }
    mutating func add(_ peer: PeerAddress) { shares.add(peer.client) }
    mutating func remove(_ peer: PeerAddress) { shares.remove(peer.client) }
    func count(of peer: PeerAddress) -> Int { shares.count(of: peer.client) }

    /// How many the client has beyond its share; 0 if none.
    /// - Parameter others: how many more are taken.
    func excess(of peer: PeerAddress, others: Int = 0) -> Int { shares.excess(of: peer.client, others: others) }
}
