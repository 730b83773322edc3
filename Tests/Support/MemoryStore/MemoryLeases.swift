package import HeraldModel

/// The leases of one of several processes that share a memory store.
package final class MemoryLeases: ShardLeases, Sendable {
    private let store: MemoryStore
    package let node: NodeKey

    package init(_ store: MemoryStore, _ node: NodeKey) {
        self.store = store
        self.node = node
    }

    package var held: Shards {
        store.read { [node] contents in
            contents.open(node)
            return contents.leases[node, default: []]
        }
    }

    package func heartbeat() -> [NodeKey] {
        store.read { [node] contents in
            contents.open(node)
            return contents.leases.keys.filter { !contents.leaving.contains($0) }.sorted()
        }
    }

    package func take(_ shards: Shards) -> (taken: Shards, abandoned: Shards) {
        store.read { [node] contents in
            contents.open(node)
            let free = shards.subtracting(contents.leased)
            contents.leases[node, default: []].formUnion(free)
            let abandoned = contents.takers.values.reduce(Shards()) { $0.union($1) }.intersection(free)
            for other in contents.takers.keys { contents.takers[other]?.subtract(free) }
            contents.takers[node, default: []].formUnion(free)
            return (free, abandoned)
        }
    }

    package func leave() { store.read { [node] contents in _ = contents.leaving.insert(node) } }

    package func give(_ shards: Shards) {
        store.read { [node] contents in
            contents.open(node)
            contents.leases[node]?.subtract(shards)
            contents.takers[node]?.subtract(shards)
        }
    }

    /// As when the process ends, or its session is cut.
    package func endSession() { store.read { [node] contents in contents.leases[node] = nil } }
}

extension MemoryContents {
    /// Ends all sessions, like the end of a database server: no node holds any shard.
    package mutating func endSessions() { (leases, takers, leaving) = ([:], [:], []) }

    fileprivate var leased: Shards { leases.values.reduce(into: []) { $0.formUnion($1) } }

    /// Opens a session if there is none. It holds the shards of the last one that no other node has taken since.
    fileprivate mutating func open(_ node: NodeKey) {
        if leases[node] == nil { leases[node] = takers[node, default: []].subtracting(leased) }
    }
}
