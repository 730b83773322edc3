package import HeraldModel

/// Shared statements of pull delegates.
package enum PullStatement: Int, CaseIterable, Sendable {
    case lane, state, ended, countAll, set, replace, remove, rows, rowsInRange, names, namesInRange, before, forget,
        dropBehind, unannounced

    func text(_ dialect: SQLDialect) -> String {
        let columns = PullLease.columns
        switch self {
        case .lane: return "SELECT \(LanePosition.columns) FROM lanes WHERE delegate = ?1"
        case .state:
            return """
                SELECT lane.delegate, lane.cursor, lane.position, others.count, others.ends, others.first,
                    lease.delegate, lease.id, lease.created_at, lease.expires_at, lease.entries
                FROM lanes AS lane LEFT JOIN leases AS lease ON lease.delegate = ?1 AND lease.id = ?2
                CROSS JOIN (SELECT count(*) AS count, min(expires_at) AS ends, min(first) AS first FROM leases
                    WHERE delegate = ?1 AND id <> ?2) AS others
                WHERE lane.delegate = ?1
                """
        case .ended:
            return """
                SELECT \(columns) FROM leases WHERE delegate = ?1 AND expires_at <= ?2 ORDER BY expires_at, id LIMIT ?3
                """
        case .countAll: return "SELECT count(*) FROM leases"
        case .set:
            return """
                INSERT INTO leases (\(columns), first)
                SELECT ?1, ?2, ?3, ?4, ?5, ?6
                WHERE EXISTS (SELECT 1 FROM delegates WHERE key = ?1 AND deleted_at IS NULL)
                ON CONFLICT (delegate, id) DO UPDATE SET expires_at = excluded.expires_at,
                    entries = excluded.entries, first = excluded.first
                """
        case .replace:
            return """
                UPDATE leases SET id = ?2, created_at = ?3, expires_at = ?4, entries = ?5, first = ?6
                WHERE delegate = ?1 AND id = ?7
                """
        case .rows: return Self.rows("event \(Self.isListed(2, dialect))")
        case .rowsInRange: return Self.rows("event BETWEEN ?2 AND ?3")
        case .names:
            return "SELECT sequence, id, type, attributes FROM events WHERE sequence \(Self.isListed(1, dialect))"
        case .namesInRange: return "SELECT sequence, id, type, attributes FROM events WHERE sequence BETWEEN ?1 AND ?2"
        case .before:
            return "SELECT \(columns) FROM leases WHERE delegate = ?1 AND first <= ?2 ORDER BY first, id LIMIT ?3"
        case .forget: return "DELETE FROM waiting WHERE delegate = ?1 AND event > ?2"
        case .dropBehind:
            return "UPDATE waiting SET state = ?3, due_at = ?4 WHERE delegate = ?1 AND state = 1 AND event <= ?2"
        case .remove: return "DELETE FROM leases WHERE delegate = ?1 AND id = ?2"
        case .unannounced: return "SELECT count FROM unannounced WHERE delegate = ?1"
        }
    }

    /// A row with an impossible state is left out: it must not hold up the lease of its neighbors.
    private static func rows(_ condition: String) -> String {
        """
        SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting
        WHERE delegate = ?1 AND \(condition) AND state IN (\(states)) ORDER BY event
        """
    }

    private static let states = WaitingDelivery.State.allCases.map { String($0.rawValue) }.joined(separator: ", ")

    /// Whether a number is in a list, which is a parameter: `list(_:)`.
    private static func isListed(_ parameter: Int, _ dialect: SQLDialect) -> String {
        switch dialect {
        case .sqlite: "IN (SELECT value FROM json_each(?\(parameter)))"
        case .postgres: "= ANY(CAST(translate(CAST(?\(parameter) AS text), '[]', '{}') AS bigint[]))"
        }
    }

    /// Numbers as a JSON array.
    static func list(_ numbers: [Int64]) -> ColumnValue {
        .text("[" + numbers.map(String.init).joined(separator: ",") + "]")
    }
}

extension PullLease: RowConvertible {
    package static let columns = "delegate, id, created_at, expires_at, entries"

    package init(_ row: some ResultRow) throws(StoreError) { try self.init(row, from: 0) }

    /// - Parameter first: the number of the first of its columns.
    init(_ row: some ResultRow, from first: Int32) throws(StoreError) {
        do throws(StoreError) {
            let entries = try row.withBytes(first + 4) { bytes in
                Result { () throws(StoreError) in try Self.decode(bytes) }
            }.get()
            self.init(
                delegate: try row.natural(first, "delegate"), id: try row.key(first + 1, "id of a lease"),
                createdAt: try row.time(first + 2), expiresAt: try row.time(first + 3), entries: entries)
        } catch {
            throw error.found(in: "leases", row: "\(row.integer(first)), \(row.text(first + 1))")
        }
    }

    var values: [any ColumnConvertible] {
        [delegate, id, createdAt, expiresAt, Self.encode(entries), firstOfLog]
    }

    // Variable-length numbers, low bits first, as in DWARF (LEB128): a run of neighbors takes two bytes an event.

    /// For each entry: twice the distance from the event before, and 1 if it has a row of its own; with a row, the
    /// numbers of attempts and of those that count for nothing.
    static func encode(_ entries: [Entry]) -> [UInt8] {
        var bytes: [UInt8] = []
        func add(_ number: Int64) {
            var rest = UInt64(number)
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        var last: LogPosition = 0
        for entry in entries {
            add((entry.event - last) << 1 | (entry.hasRow ? 1 : 0))
            last = entry.event
            guard entry.hasRow else { continue }
            add(Int64(entry.attempts))
            add(Int64(entry.uncounted))
        }
        return bytes
    }

    static func decode(_ bytes: UnsafeRawBufferPointer) throws(StoreError) -> [Entry] {
        var index = 0
        func next() throws(StoreError) -> Int64 {
            var (number, shift): (UInt64, UInt64) = (0, 0)
            while index < bytes.count, shift < 63 {
                let byte = bytes[index]
                index += 1
                number |= UInt64(byte & 0x7F) << shift
                if byte < 0x80 { return try StoredNumber.natural(Int64(number), "entry of a lease") }
                shift += 7
            }
            throw .unreadable("entry of a lease", "of \(bytes.count) bytes")
        }
        var entries: [Entry] = []
        var last: LogPosition = 0
        while index < bytes.count {
            let step = try next()
            guard step >> 1 > 0, entries.count < maxEvents else {
                throw .unreadable("lease", "of \(bytes.count) bytes")
            }
            last = try StoredNumber.natural(last + step >> 1, "position")
            if step & 1 == 0 {
                entries.append(Entry(last))
            } else {
                entries.append(Entry(last, attempts: Int(try next()), uncounted: Int(try next()), hasRow: true))
            }
        }
        guard !entries.isEmpty else { throw .unreadable("lease", "without events") }
        return entries
    }
}

/// Changes pull delegates.
extension SharedTransaction {
    package func set(_ lease: PullLease) throws(StoreError) { try record(.pull(.set), lease.values) }

    package func set(_ lease: PullLease, replacing id: String) throws(StoreError) {
        try record(.pull(.replace), lease.values + [id])
    }

    package func leases(
        of delegate: DelegateKey, through last: LogPosition, limit: Int
    ) throws(StoreError) -> [PullLease] {
        try rows(.pull(.before), [delegate, last, limit])
    }

    package func forget(_ delegate: DelegateKey, after position: LogPosition, at time: Int64) throws(StoreError) {
        try record(.registry(.removeLeases), [delegate])
        try record(.pull(.forget), [delegate, position])
        let dropped = WaitingDelivery.State.dropped.rawValue
        try record(.pull(.dropBehind), [delegate, position, dropped, time])
    }

    package func removeLease(_ id: String, of delegate: DelegateKey) throws(StoreError) {
        try record(.pull(.remove), [delegate, id])
    }

    /// The range of events that are neighbors, or nearly: a range costs half of what a list does, which is searched item by item.
    private static func run(of events: [LogPosition]) -> ClosedRange<LogPosition>? {
        guard let first = events.min(), let last = events.max(), last - first < 2 * events.count else { return nil }
        return first...last
    }

    package func names(of events: [LogPosition]) throws(StoreError) -> [LogPosition: EventName] {
        if events.isEmpty { return [:] }
        let run = Self.run(of: events)
        let values: [any ColumnConvertible] =
            if let run { [run.lowerBound, run.upperBound] } else { [PullStatement.list(events)] }
        let found = try rows(run == nil ? .pull(.names) : .pull(.namesInRange), values) { row throws(StoreError) in
            let isErased = row.optionalText(3)?.hasPrefix(erasedMark) == true
            return (try row.natural(0, "position"), EventName(id: row.text(1), type: row.text(2), isErased: isErased))
        }
        let names = Dictionary(found) { $1 }
        if names.count == events.count { return names }
        let wanted = Set(events)
        return names.filter { wanted.contains($0.key) }
    }

    package func waiting(
        _ delegate: DelegateKey, _ events: [LogPosition]
    ) throws(StoreError) -> [WaitingDelivery] {
        if events.isEmpty { return [] }
        guard let run = Self.run(of: events) else {
            return try rows(.pull(.rows), [delegate, PullStatement.list(events)])
        }
        let rows: [WaitingDelivery] = try rows(.pull(.rowsInRange), [delegate, run.lowerBound, run.upperBound])
        if rows.isEmpty { return [] }
        let wanted = Set(events)
        return rows.filter { wanted.contains($0.event) }
    }

    package func retrying(
        _ delegate: DelegateKey, in events: ClosedRange<LogPosition>, limit: Int
    ) throws(StoreError) -> [WaitingDelivery] {
        try rows(.delivery(.rowsOfEvents), [delegate, limit, events.lowerBound, events.upperBound])
    }
}

/// Reads pull delegates.
extension SharedStatements {
    package func lane(of delegate: DelegateKey) throws(StoreError) -> LanePosition? {
        try first(.pull(.lane), [delegate])
    }

    package func pullState(of delegate: DelegateKey, lease id: String?) throws(StoreError) -> PullState? {
        // No lease has an empty id.
        try first(.pull(.state), [delegate, id ?? ""]) { row throws(StoreError) in
            PullState(
                lane: try LanePosition(row), lease: row.isNull(6) ? nil : try PullLease(row, from: 6),
                others: LeaseTotals(
                    count: Int(row.figure(3)), firstEnd: row.isNull(4) ? nil : try row.time(4),
                    firstEvent: try row.optionalNatural(5, "position")))
        }
    }

    package func unannounced(of delegate: DelegateKey) throws(StoreError) -> Int {
        Int(try first(.pull(.unannounced), [delegate]) { $0.figure(0) } ?? 0)
    }

    package func leases(
        of delegate: DelegateKey, endedBy time: Int64, limit: Int
    ) throws(StoreError) -> [PullLease] {
        try rows(.pull(.ended), [delegate, time, limit])
    }

    package func countLeases() throws(StoreError) -> Int {
        Int(try first(.pull(.countAll), []) { $0.figure(0) } ?? 0)
    }

}

/// The stored attributes of an erased event begin so.
private let erasedMark = TextList.encode([Event.erasedMark])
