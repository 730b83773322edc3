package import HeraldModel

/// Assigns shards to nodes. All nodes compute the same assignment from the same list, without communication.
///
/// Rendezvous hashing (Thaler and Ravishankar, 1998): each node has a weight for each shard, and the heaviest gets it, unless it
/// has its share already. When a node comes or goes, few shards change hands beyond those that must.
package enum ShardAssignment {
    /// - Parameter nodes: those that are present; an order or repetitions do not matter.
    /// - Returns: the shards of each; an even share, or one shard less.
    package static func shards(among nodes: some Sequence<NodeKey>) -> [NodeKey: Shards] {
        let nodes = Set(nodes).sorted()
        guard !nodes.isEmpty else { return [:] }
        let bids = (0..<Shards.count).flatMap { shard in
            nodes.map { (shard: shard, node: $0, weight: weight(shard, $0)) }
        }
        // The lowest share is filled first everywhere, so that no node has two shards less than another.
        var found: [NodeKey: Shards] = Dictionary(uniqueKeysWithValues: nodes.map { ($0, []) })
        var taken: Shards = []
        var spare = Shards.count % nodes.count
        for bid in bids.sorted(by: { ($0.weight, $0.node) > ($1.weight, $1.node) }) {
            let shard = Shards(rawValue: 1 << UInt64(bid.shard))
            let has = found[bid.node, default: []].number
            let share = Shards.count / nodes.count
            guard taken.isDisjoint(with: shard), has < share || has == share && spare > 0 else { continue }
            if has == share { spare -= 1 }
            found[bid.node, default: []].formUnion(shard)
            taken.formUnion(shard)
        }
        return found
    }

    /// A hash that never changes between processes and versions: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
    private static func weight(_ shard: Int, _ node: NodeKey) -> UInt64 {
        var bits = UInt64(node.rawValue) << 8 | UInt64(shard)
        for multiplier: UInt64 in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
            bits = (bits ^ bits >> 30) &* multiplier
            bits ^= bits >> 27
        }
        return bits ^ bits >> 31
    }
}
