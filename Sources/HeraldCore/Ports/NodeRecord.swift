/// A process that shares the store with others, as the store knows it.
package struct NodeRecord: Equatable, Sendable {
    package let node: NodeKey
    package let name: String
    package let version: String
    /// It has a session that writes.
    package let isPresent: Bool
    /// Milliseconds since 1970 UTC, as all times here.
    package let startedAt: Int64
    /// Its last sign of life.
    package let seenAt: Int64
    /// `nil` while it is there, and if it has ended without a word.
    package let leftAt: Int64?
    package let shards: Shards
    /// The earliest position of its shards; `nil` if it has none.
    package let settled: LogPosition?

    package init(
        node: NodeKey, name: String, version: String, isPresent: Bool, startedAt: Int64, seenAt: Int64, leftAt: Int64?,
        shards: Shards, settled: LogPosition?
    ) {
        self.node = node
        self.name = name
        self.version = version
        self.isPresent = isPresent
        self.startedAt = startedAt
        self.seenAt = seenAt
        self.leftAt = leftAt
        self.shards = shards
        self.settled = settled
    }
}
