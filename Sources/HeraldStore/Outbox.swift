import HeraldRuntime

/// A part of an event in a row of an outbox.
package enum OutboxPart: String, CaseIterable, Sendable {
    case id, type, data, subject, time
    case deliverAt = "deliver_at"
}

/// A table in which programs leave events, for `herald drain`. Names are as in the catalogue of the database, not quoted.
package struct OutboxTable: Sendable {
    /// The change of a row whose event is published.
    package enum Disposal: Sendable {
        case delete
        /// Sets a column that is NULL, or false, until then.
        case mark(column: String)
    }

    /// `nil`: the first schema that has the table.
    package let schema: String?
    package let name: String
    package let columns: [(part: OutboxPart, column: String)]
    /// The column that orders the rows.
    package let order: String
    package let disposal: Disposal

    package init(
        schema: String?, name: String, columns: [(part: OutboxPart, column: String)], order: String, disposal: Disposal
    ) {
        self.schema = schema
        self.name = name
        self.columns = columns
        self.order = order
        self.disposal = disposal
    }

    /// The columns that must exist.
    package var allColumns: [String] {
        let mark: [String] = if case .mark(let column) = disposal { [column] } else { [] }
        return columns.map(\.column) + [order] + mark
    }

    /// The table's name in SQL.
    package var quotedName: String { (schema.map { Self.quoted($0) + "." } ?? "") + Self.quoted(name) }

    /// A name as an identifier of SQL.
    package static func quoted(_ name: String) -> String { "\"" + name.replaced("\"", by: "\"\"") + "\"" }
}

/// An event that a program has committed in its database: not validated.
package enum OutboxEntry: Sendable {
    /// The texts of a row, without those that are NULL.
    case row([OutboxPart: [UInt8]])
    /// A whole event as JSON.
    /// - Parameter id: of the event, unless it has one.
    case message(id: String, [UInt8])
}

/// Why an outbox cannot be read or changed.
package enum OutboxError: Error {
    /// The database is away or busy. A later attempt may succeed.
    case unavailable(String)
    /// There is no such table, column or slot, or the role has no right to it.
    case unusable(String)
}

/// Events that programs have committed in their database, in order. One thread.
package protocol Outbox: AnyObject {
    /// The database, without a password, for messages.
    var label: String { get }
    /// A risk for the operator; set by the first `next`.
    var warning: String? { get }
    /// Whether the last `next` has passed over messages that are no events, and more may follow.
    var isBehind: Bool { get }
    /// The next entries. While the database supports that, no other reader gets them until `settle` or `release`.
    /// - Parameter limit: the maximum number. A transaction of the program that cannot be divided may exceed it.
    func next(limit: Int) throws(OutboxError) -> [OutboxEntry]
    /// Removes or marks the first `count` entries that `next` has returned, and releases the others. If it throws
    /// `.unavailable`, the entries may be returned again.
    func settle(_ count: Int) throws(OutboxError)
    /// Releases the entries that `next` has returned.
    func release()
}

/// All rows of a table are events.
extension Outbox {
    package var isBehind: Bool { false }
}
