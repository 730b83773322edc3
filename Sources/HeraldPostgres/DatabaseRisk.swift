import Glibc

/// A setting of the database that lets others read or stop it. Found at the start, for the log.
package struct DatabaseRisk: Equatable, Sendable {
    package let text: String
    package let advice: String
}

extension DatabaseRisk {
    /// Values of `sslmode` with which the connection may be without encryption.
    private static let weak: Set = ["disable", "allow", "prefer"]

    /// - Parameters:
    ///   - servers: the hosts of the URL; a path is a socket's.
    ///   - mode: `sslmode`; `nil` for libpq's default.
    static func ofConnection(_ hosts: [String], mode: String?) -> DatabaseRisk? {
        let mode = mode ?? "prefer"
        guard weak.contains(mode), hosts.contains(where: isElsewhere) else { return nil }
        return DatabaseRisk(
            text: "the connection to the database may be without encryption: sslmode is \(mode)",
            advice: "add sslmode=verify-full, or at least sslmode=require, to the address of the database")
    }

    private static func isElsewhere(_ host: String) -> Bool {
        guard let first = host.first, first != "/", first != "@" else { return false }
        return host != "localhost" && host != "::1" && !host.hasPrefix("127.")
    }

    /// Other roles that may connect. Any of them can take the locks by which Herald orders the log.
    private static let others = Statement(
        """
        SELECT rolname::text, current_database()::text FROM pg_roles
        WHERE rolcanlogin AND NOT rolsuper AND rolname <> current_user
            AND has_database_privilege(oid, current_database(), 'CONNECT')
        ORDER BY rolname LIMIT 4
        """)

    static func ofRoles(_ writer: Writer) -> DatabaseRisk? {
        guard let rows = try? writer.run(Request(others)), let first = rows.first else { return nil }
        let names = rows.all.prefix(3).map { $0.text(0) }
        return DatabaseRisk(
            text: "other roles may connect to the database, and can stop it by holding its locks: "
                + names.joined(separator: ", ") + (rows.count > 3 ? ", …" : ""),
            advice: "REVOKE CONNECT ON DATABASE \"\(first.text(1))\" FROM PUBLIC, and from these roles. "
                + "A role that calls herald.publish needs GRANT CONNECT")
    }
}

extension Writer {
    /// The session that others wait for, and that waits for none: of those with the lock that gives events their order, the one that
    /// keeps out who records progress, or a lock of a table that keeps out writes. Another node may have such a lock, and itself wait.
    /// - Returns: `nil` if it is unknown.
    func holderOfLock() -> String? {
        guard let row = try? run(Request(Self.holder)).first else { return nil }
        return "the role \(row.text(0)), process \(row.integer(1))" + (row.text(2).isEmpty ? "" : ", \(row.text(2))")
    }

    private static let holder = Statement(
        """
        WITH RECURSIVE chain (pid) AS (
            SELECT pid FROM pg_locks
            WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()
                AND (locktype = 'advisory' AND objsubid = 1 AND classid = \(Schema.orderLock >> 32)
                        AND (objid = \(Schema.orderLock & 0xffff_ffff)
                            OR objid = \(Schema.progressLock & 0xffff_ffff) AND mode = 'ExclusiveLock')
                    OR mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
                        AND relation IN (SELECT oid FROM pg_class WHERE relnamespace = 'herald'::regnamespace))
            UNION
            SELECT unnest(pg_blocking_pids(pid)) FROM chain
        )
        SELECT coalesce(usename::text, '?'), pid::bigint, coalesce(application_name, '')
        FROM chain JOIN pg_stat_activity USING (pid) WHERE cardinality(pg_blocking_pids(pid)) = 0
        """)
}
