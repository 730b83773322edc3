import HeraldModel

/// For how long the other nodes have given no new sign, by this machine's monotonic clock. The times of their signs are only compared
/// with each other: a step of the database's clock must not end nodes that live.
struct NodeSilence {
    private var heard: [Int64: (seenAt: Int64, since: Int64)] = [:]

    /// Nanoseconds after which a node without a heartbeat is ended, even if its session hangs in a half-sent message.
    static let limit = NodeSilenceLimit.attempts + 4_000_000_000

    /// - Parameters:
    ///   - seen: the nodes that are there, with the time of the last sign of each.
    ///   - now: monotonic nanoseconds.
    /// - Returns: those that are to be ended, with their last sign.
    mutating func silent(among seen: [Int64: Int64], at now: Int64) -> [(node: Int64, seenAt: Int64)] {
        var next: [Int64: (seenAt: Int64, since: Int64)] = [:]
        var silent: [(node: Int64, seenAt: Int64)] = []
        for (node, seenAt) in seen {
            let since = if let found = heard[node], found.seenAt == seenAt { found.since } else { now }
            next[node] = (seenAt: seenAt, since: since)
            if now - since >= Self.limit { silent.append((node: node, seenAt: seenAt)) }
        }
        heard = next
        return silent
    }
}
