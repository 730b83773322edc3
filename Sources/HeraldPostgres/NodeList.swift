import HeraldCore

/// Who shares the database, and who has which shards.
enum NodeList {
    /// What the last owner of a shard has not given is its own only while its session lives.
    static let statement = Statement(
        """
        SELECT n.node, n.name, n.version, CASE WHEN l.number IS NULL THEN 0 ELSE 1 END::bigint, n.started_at, n.seen_at,
            n.left_at, s.shards, s.settled
        FROM nodes n
        LEFT JOIN \(Writer.locks(Writer.presence)) AS l ON l.number = n.node
        LEFT JOIN (
            SELECT node, bit_or(1::bigint << shard::int) AS shards, min(settled) AS settled FROM shards
            WHERE node IS NOT NULL GROUP BY node
        ) AS s ON s.node = n.node AND l.number IS NOT NULL
        ORDER BY n.started_at DESC, n.node
        """)
}

extension NodeRecord {
    /// A row of `NodeList.statement`.
    init(_ row: Row) {
        self.init(
            node: NodeKey(rawValue: UInt32(truncatingIfNeeded: row.integer(0))), name: row.text(1),
            version: row.text(2),
            isPresent: row.flag(3), startedAt: row.integer(4), seenAt: row.integer(5),
            leftAt: row.isNull(6) ? nil : row.integer(6),
            shards: Shards(rawValue: row.isNull(7) ? 0 : UInt64(bitPattern: row.integer(7))),
            settled: row.isNull(8) ? nil : row.integer(8))
    }
}
