import HeraldModel
import HeraldStore

/// The nodes that share the database, and their shards.
enum NodeList {
    /// Reads the nodes. A shard that its last owner has not released belongs to it only while its session exists.
    static let statement = Statement(
        """
        SELECT n.node, n.name, n.version, CASE WHEN l.number IS NULL THEN 0 ELSE 1 END::bigint, n.started_at, n.seen_at,
            n.left_at, s.shards, s.settled
        FROM nodes n
        LEFT JOIN \(Writer.locks(Writer.presence)) AS l ON l.number = n.node
        LEFT JOIN (
            SELECT node, bit_or(1::bigint << shard::int) AS shards, min(settled) AS settled FROM shards
            WHERE is_given = 0 GROUP BY node
        ) AS s ON s.node = n.node AND l.number IS NOT NULL
        ORDER BY n.started_at DESC, n.node
        """)

    /// How many moves are kept.
    static let maxMoves = 256
    static let moves = Statement(
        """
        SELECT time, shards, "from", "to", is_given FROM moves WHERE time >= $1 ORDER BY id DESC LIMIT \(maxMoves)
        """)
}

extension ShardMove {
    /// A row of `NodeList.moves`.
    init(_ row: Row) {
        func node(_ column: Int32) -> NodeKey { NodeKey(rawValue: UInt32(truncatingIfNeeded: row.integer(column))) }
        self.init(
            time: row.figure(0), shards: Shards(rawValue: UInt64(bitPattern: row.integer(1))),
            from: row.isNull(2) ? nil : node(2), to: node(3), isGiven: row.flag(4))
    }
}

extension NodeRecord {
    /// A row of `NodeList.statement`.
    init(_ row: Row) {
        self.init(
            node: NodeKey(rawValue: UInt32(truncatingIfNeeded: row.integer(0))), name: row.text(1),
            version: row.text(2),
            isPresent: row.flag(3), startedAt: row.figure(4), seenAt: row.figure(5),
            leftAt: row.isNull(6) ? nil : row.figure(6),
            shards: Shards(rawValue: row.isNull(7) ? 0 : UInt64(bitPattern: row.integer(7))),
            settled: row.isNull(8) ? nil : row.figure(8))
    }
}
