import HeraldModel
import HeraldRuntime
import HeraldStore

/// Locks of the session that writes. While it lives, the server says to the others that this process is there, and which shards
/// it has. It ends the session of a process that is dead, cut off or hung; its locks go with it.
extension Writer: ShardLeases {
    /// The class of the locks that say who is there, by the node's number, and of those of the shards, by theirs.
    static let presence = 0x4852_4c11
    private static let shard = 0x4852_4c12

    /// Locks of a class in this database, with the process that has each.
    static func locks(_ kind: Int) -> String {
        """
        (SELECT objid::bigint AS number, pid FROM pg_locks WHERE locktype = 'advisory' AND classid = \(kind) AND objsubid = 2
            AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
        """
    }

    /// The number of nodes that are there.
    static let countPresent = Statement("SELECT count(*) FROM \(locks(presence)) AS present")

    private static let now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    // MARK: The session

    private static let begin = Statement(
        """
        INSERT INTO nodes (node, name, version, started_at, seen_at) VALUES ($1, $2, $3, \(now), \(now))
        ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, left_at = NULL RETURNING seen_at
        """)
    private static let forget = Statement("DELETE FROM nodes WHERE seen_at < \(now) - 86400000")
    /// Removes moves that are older than a day, or beyond the size of a page.
    private static let forgetMoves = Statement(
        """
        DELETE FROM moves WHERE time < \(now) - 86400000
            OR id <= (SELECT id FROM moves ORDER BY id DESC OFFSET \(NodeList.maxMoves) LIMIT 1)
        """)
    /// An earlier session of this process may live on, if the server has not noticed its end.
    private static let endOthers = Statement(
        "SELECT pg_terminate_backend(pid) FROM \(locks(presence)) AS l WHERE number = $1 AND pid <> pg_backend_pid()")
    private static let enter = Statement("SELECT pg_try_advisory_lock(\(presence), $1::bigint::int)")
    /// Locks shards again. Those that are still this node's were not taken by another one since.
    private static let lockAgain = Statement(
        "SELECT shard FROM shards WHERE node = $1 AND is_given = 0 AND pg_try_advisory_lock(\(shard), shard::int)")

    /// Begins with a new session: with the shards of the last one that no other node has taken since, unless this process is
    /// about to end.
    func enter() throws(StoreError) {
        let me = Int64(node.rawValue)
        lost.formUnion(held)
        held = []
        isWatched = false
        if isLeaving {
            _ = try run(Request(Self.endOthers) { $0.add(me) })
            return
        }
        for _ in 0..<Self.entryTries {
            if try run(Request(Self.enter) { $0.add(me) }).first?.flag(0) == true {
                try learnTime { () throws(StoreError) in
                    try run([
                        Request(Self.begin) { $0.add(me, database.client, heraldVersion) }, Request(Self.forget),
                        Request(Self.forgetMoves),
                    ])
                }
                held = Shards(try run(Request(Self.lockAgain) { $0.add(me) }))
                lost.subtract(held)
                return
            }
            _ = try run(Request(Self.endOthers) { $0.add(me) })
            pause(milliseconds: 100)
        }
        throw .unavailable(reason: "the server does not end the last session of this process")
    }

    /// Tenths of a second.
    private static let entryTries = 30

    /// Not every server with PostgreSQL's protocol keeps a lock from other sessions: shards would have two owners.
    func checkLocks() throws(StoreError) {
        let other = try database.open(.listen)
        let rows: Rows
        do {
            rows = try other.run(
                Request(Self.enter) { $0.add(Int64(node.rawValue)) }, seconds: Database.writeSeconds)
        } catch {
            throw error.ofRead(database.label)
        }
        guard rows.first?.flag(0) == false else {
            throw .notWritable(
                path: database.label,
                reason: "the server gives a lock to two sessions at once: a shard would have two owners")
        }
    }

    // MARK: ShardLeases

    private static let sign = Statement("UPDATE nodes SET seen_at = \(now) WHERE node = $1 RETURNING seen_at")
    private static let present = Statement(
        "SELECT l.number, n.seen_at FROM \(locks(presence)) AS l LEFT JOIN nodes n ON n.node = l.number")
    /// Ends the session of a node that has given no other sign since.
    private static let endSilent = Statement(
        """
        SELECT pg_terminate_backend(l.pid) FROM \(locks(presence)) AS l JOIN nodes n ON n.node = l.number
        WHERE l.number = $1 AND n.seen_at = $2
        """)

    /// Longer than a process without heartbeats continues its deliveries (`DeliveryPermit`).
    private static let watch = Statement(
        "SELECT set_config('idle_session_timeout', '\(NodeSilenceLimit.attempts / 1_000_000 + 2_000)ms', false)")

    package func heartbeat() throws(StoreError) -> [NodeKey] {
        try connect()
        if !isWatched {
            _ = try run(Request(Self.watch))
            isWatched = true
        }
        let me = Int64(node.rawValue)
        let found = try learnTime { () throws(StoreError) in
            try commit([Request(Self.sign) { $0.add(me) }, Request(Self.present)], through: 0, flushes: false)
        }[1]
        for (node, seenAt) in silence.silent(among: found.signs(except: me), at: clock.machine.monotonic()) {
            _ = try run(Request(Self.endSilent) { $0.add(node, seenAt) })
        }
        return found.nodes
    }

    /// - Parameter run: runs requests, the first of which returns the time of the server.
    @discardableResult
    private func learnTime(_ run: () throws(StoreError) -> [Rows]) throws(StoreError) -> [Rows] {
        let sent = clock.machine.wall()
        let rows = try run()
        if let row = rows.first?.first { clock.learn(row.figure(0), after: sent, before: clock.machine.wall()) }
        return rows
    }

    /// The condition on the shard is looked at before the lock is tried: it is the cheaper one.
    private static let take = Statement(
        """
        WITH free AS MATERIALIZED (
            SELECT shard, node, is_given FROM shards
            WHERE shard = ANY($1::bigint[]) AND pg_try_advisory_lock(\(shard), shard::int)),
        taken AS (UPDATE shards s SET node = $2, is_given = 0 FROM free WHERE s.shard = free.shard),
        moved AS (
            INSERT INTO moves (time, shards, "from", "to", is_given)
            SELECT \(now), bit_or(1::bigint << shard::int), node, $2, is_given FROM free WHERE node IS DISTINCT FROM $2
            GROUP BY node, is_given)
        SELECT shard, CASE WHEN node IS NULL THEN 0 ELSE 1 - is_given END FROM free
        """)

    package func take(_ shards: Shards) throws(StoreError) -> (taken: Shards, abandoned: Shards) {
        try connect()
        do throws(StoreError) {
            let take = Request(Self.take, numbers: shards.numbers, Int64(node.rawValue))
            let rows = try commit([take], through: 0, flushes: false)
            let taken = Shards(rows[0])
            held.formUnion(taken)
            lost.subtract(taken)
            return (taken, Shards(rows[0]) { $0.flag(1) })
        } catch {
            // Some may be locked: they are released with the session.
            close()
            throw error
        }
    }

    private static let release = Statement(
        "UPDATE shards SET is_given = 1 WHERE shard = ANY($1::bigint[]) AND node = $2")
    private static let unlock = Statement(
        "SELECT pg_advisory_unlock(\(shard), number::int) FROM unnest($1::bigint[]) AS number")

    package func give(_ shards: Shards) throws(StoreError) {
        try connect()
        let given = shards.intersection(held)
        if given.isEmpty { return }
        let release = Request(Self.release, numbers: given.numbers, Int64(node.rawValue))
        try commit([release], through: 0, flushes: false)
        held.subtract(given)
        _ = try run(Request(Self.unlock, numbers: given.numbers))
    }

    private static let leave = Statement(
        "UPDATE nodes SET left_at = \(now) WHERE node = $1 AND pg_advisory_unlock(\(presence), $1::int)")

    package func leave() throws(StoreError) {
        isLeaving = true
        try connect()
        _ = try run(Request(Self.leave) { $0.add(Int64(node.rawValue)) })
    }
}

extension Shards {
    /// The shards that the first column names.
    fileprivate init(_ rows: Rows, where condition: (Row) -> Bool = { _ in true }) {
        self = []
        for row in rows.all where condition(row) { formUnion(Shards(of: row.integer(0))) }
    }
}

extension Rows {
    /// The nodes that the first column names.
    fileprivate var nodes: [NodeKey] {
        all.compactMap { UInt32(exactly: $0.integer(0)) }.map { NodeKey(rawValue: $0) }
    }

    /// The last sign of each node, which the second column has. A node may not be in the list of nodes.
    fileprivate func signs(except me: Int64) -> [Int64: Int64] {
        var found: [Int64: Int64] = [:]
        for row in all where row.integer(0) != me && !row.isNull(1) { found[row.integer(0)] = row.integer(1) }
        return found
    }
}
