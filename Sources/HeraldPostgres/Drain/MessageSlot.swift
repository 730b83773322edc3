package import HeraldStore

/// The messages of `pg_logical_emit_message` in a replication slot, in the order of the commits.
///
/// `next` only peeks. `settle` advances the slot behind the transactions whose messages are all published, so a crash in between
/// returns messages again, with the same ids.
package final class MessageSlot: Outbox {
    package let label: String
    package private(set) var warning: String?
    package private(set) var isBehind = false
    private let connection: DrainConnection
    private let slot: String
    private let publication: String
    private var isChecked = false
    /// For each entry of the last `next`: where the slot may advance once it is published; `nil` within a transaction.
    private var ends: [UInt64?] = []
    /// Where the slot is, as this connection has read or moved it. A crash of the server may take it back.
    private var confirmed: UInt64 = 0

    /// The prefix of the messages that are events.
    package static let prefix = "herald"
    /// How far the log may grow without messages before the slot advances, in bytes.
    private static let idleBytes: UInt64 = 1 << 20

    /// - Parameters:
    ///   - url: `postgres://user@host/database?…`, as libpq takes it.
    ///   - publication: one without tables, so that changes of tables are not sent.
    package init(url: String, slot: String, publication: String) throws(OutboxError) {
        connection = try DrainConnection(url: url)
        label = connection.label
        self.slot = slot
        self.publication = publication
    }

    private static let position = Statement("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint")
    private static let peek = Statement(
        """
        SELECT data FROM pg_logical_slot_peek_binary_changes($1::text::name, NULL, $2::bigint::int,
            'proto_version', '1', 'publication_names', $3::text, 'messages', 'true')
        """)
    private static let advance = Statement("SELECT pg_replication_slot_advance($1::text::name, $2::text::pg_lsn)")

    package func next(limit: Int) throws(OutboxError) -> [OutboxEntry] {
        ends = []
        if !isChecked { try check() }
        let end = UInt64(bitPattern: try run([Request(Self.position)])[0].integer)
        let before = confirmed
        let rows = try run([Request(Self.peek) { $0.add(slot, limit, OutboxTable.quoted(publication)) }])[0]
        var entries: [OutboxEntry] = []
        var last: UInt64 = 0
        for row in rows.all {
            switch row.withBytes(0, { LogicalMessage(Array($0)) }) {
            case .message(let position, let prefix, let content, let isTransactional):
                // No commit follows one that belongs to no transaction.
                if !isTransactional { last = max(last, position + 1) }
                // Herald flushes its store with empty messages of this prefix (`PostgresSession.flush`).
                guard prefix == Self.prefix, !content.isEmpty else { break }
                entries.append(.message(id: Self.id(position), content))
                ends.append(isTransactional ? nil : position + 1)
            case .commit(let end):
                last = max(last, end)
                if let index = ends.indices.last, ends[index] ?? 0 < end { ends[index] = end }
            case .other: break
            case nil: throw .unusable("The slot \(slot) returned a message that is not of the protocol of pgoutput.")
            }
        }
        // Nothing that was committed before `end` is left then.
        if entries.isEmpty, Int(rows.count) < limit { last = max(last, end) }
        if entries.isEmpty, last > confirmed + Self.idleBytes || Int(rows.count) >= limit { try advance(to: last) }
        isBehind = Int(rows.count) >= limit && confirmed > before
        return entries
    }

    package func settle(_ count: Int) throws(OutboxError) {
        if let end = ends.prefix(count).compactMap({ $0 }).max() { try advance(to: end) }
        ends = []
    }

    package func release() { ends = [] }

    private func advance(to position: UInt64) throws(OutboxError) {
        guard position > confirmed else { return }
        _ = try run([Request(Self.advance) { $0.add(slot, Self.text(position)) }])
        confirmed = position
    }

    /// The slot is checked again on the next connection.
    private func run(_ requests: [Request]) throws(OutboxError) -> [Rows] {
        do throws(OutboxError) {
            return try connection.run(requests)
        } catch {
            isChecked = false
            throw error
        }
    }

    /// The id of an event at a position, the same after each crash.
    private static func id(_ position: UInt64) -> String {
        let digits = String(position, radix: 16, uppercase: true)
        return "pg-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func text(_ position: UInt64) -> String {
        String(position >> 32, radix: 16, uppercase: true) + "/"
            + String(position & 0xffff_ffff, radix: 16, uppercase: true)
    }

    // MARK: Checks

    private static let describe = Statement(
        """
        SELECT plugin::text, database::text = current_database(), wal_status = 'lost',
            (confirmed_flush_lsn - '0/0')::bigint, current_setting('max_slot_wal_keep_size') = '-1',
            EXISTS (SELECT 1 FROM pg_publication WHERE pubname = $2::text::name)
        FROM pg_replication_slots WHERE slot_name = $1::text::name
        """)

    private func check() throws(OutboxError) {
        let rows = try run([Request(Self.describe) { $0.add(slot, publication) }])[0]
        guard let row = rows.first else {
            throw .unusable(
                "There is no replication slot \(slot) in \(label): "
                    + "SELECT pg_create_logical_replication_slot('\(slot)', 'pgoutput') creates it.")
        }
        guard row.text(0) == "pgoutput", row.flag(1) else {
            throw .unusable("The slot \(slot) must be one of this database, with the plugin pgoutput.")
        }
        guard row.flag(5) else {
            throw .unusable("There is no publication \(publication): CREATE PUBLICATION \(publication) creates it.")
        }
        if row.flag(2) {
            throw .unusable(
                "The slot \(slot) is lost: the server has removed log that it needs (max_slot_wal_keep_size). "
                    + "Its messages cannot be read any more. SELECT pg_drop_replication_slot('\(slot)') removes it; "
                    + "then create it again.")
        }
        confirmed = UInt64(bitPattern: row.integer(3))
        if row.flag(4) {
            warning =
                "The server keeps all of its log while the drain is away, as max_slot_wal_keep_size is not set: its disk may "
                + "become full."
        }
        isChecked = true
    }
}

/// A message of pgoutput, protocol version 1: https://www.postgresql.org/docs/15/protocol-logicalrep-message-formats.html
enum LogicalMessage: Equatable {
    case message(position: UInt64, prefix: String, content: [UInt8], isTransactional: Bool)
    /// - Parameter end: the end of the transaction.
    case commit(end: UInt64)
    case other

    /// - Returns: `nil` if it is cut off.
    init?(_ bytes: [UInt8]) {
        var rest = bytes[...]
        func number(_ count: Int) -> UInt64? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
        }
        switch rest.popFirst() {
        case UInt8(ascii: "M"):
            guard let flags = number(1), let position = number(8), let end = rest.firstIndex(of: 0) else { return nil }
            let prefix = String(decoding: rest[..<end], as: UTF8.self)
            rest = rest[(end + 1)...]
            guard let count = number(4), rest.count == Int(count) else { return nil }
            self = .message(
                position: position, prefix: prefix, content: Array(rest), isTransactional: flags & 1 == 1)
        case UInt8(ascii: "C"):
            guard number(1) != nil, number(8) != nil, let end = number(8) else { return nil }
            self = .commit(end: end)
        case nil: return nil
        default: self = .other
        }
    }
}
