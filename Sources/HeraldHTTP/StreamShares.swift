import HeraldRuntime

/// The client and the group that a stream is counted for.
struct StreamHolder: Sendable {
    let peer: PeerAddress
    /// The server's application divides the streams among its groups; `nil` for a stream of none.
    let group: Int64?
}

/// How many streams there are, and whether one more is within the shares of its client and of its group.
struct StreamShares: Sendable {
    private let limit: Int
    private var addresses: AddressShares
    private var groups: Shares<Int64>

    init(limit: Int) {
        self.limit = limit
        addresses = AddressShares(places: limit, factor: 4)
        groups = Shares(slots: limit, factor: 3)
    }

    var total: Int { addresses.total }

    /// - Parameter dividesAddresses: whether a client has a share of the streams, and not all of them.
    /// - Returns: `false` if there are too many; the stream is not counted then.
    mutating func add(_ holder: StreamHolder, dividesAddresses: Bool) -> Bool {
        guard total < limit else { return false }
        addresses.add(holder.peer)
        if let group = holder.group { groups.add(group) }
        let excess =
            (dividesAddresses ? addresses.excess(of: holder.peer) : 0)
            + (holder.group.map { groups.excess(of: $0, others: total - groups.total) } ?? 0)
        if excess > 0 { remove(holder) }
        return excess == 0
    }

    mutating func remove(_ holder: StreamHolder) {
        addresses.remove(holder.peer)
        if let group = holder.group { groups.remove(group) }
    }
}
