package import HeraldModel

/// A store from which everything is copied to another one, or to which. Servers can't use it until this object is released.
///
/// Events are read and written with checksums as `EventReading.Checksums.combined` has them; a damaged event can't be read.
package protocol MoveEnd: AnyObject {
    /// For messages.
    var label: String { get }
    /// The move that this end is part of; `nil` for a store that servers may use.
    var state: MoveState? { get throws }
    /// Whether a server uses it that was starting when this object was made.
    var isServed: Bool { get throws }

    /// Marks it, durably.
    func set(_ state: MoveState?) throws

    /// The tables of its schema that a move does not copy.
    func unknownTables() throws -> [String]
    func columns(of table: String) throws -> [MovedColumn]
    /// The number of rows.
    func count(_ table: String) throws -> Int

    /// Reads all rows, some at a time.
    func visit(_ table: String, _ columns: [MovedColumn], _ body: ([MovedRow]) throws -> Void) throws
    /// Replaces all rows. An interruption may leave some of them.
    /// - Parameter produce: calls its parameter with some rows at a time.
    func replace(
        _ table: String, _ columns: [MovedColumn], _ produce: (@escaping ([MovedRow]) throws -> Void) throws -> Void
    ) throws

    /// Derives counters and partitions from the rows that were written.
    func finish() throws
}

/// A store passes on the rows that it has read when they have this many bytes.
package let movedBytes = 8 << 20

/// The state of a store during a move, or after it.
package enum MoveState: Equatable, Sendable {
    /// Everything is being copied into it, from this source: it is not complete.
    case into(String)
    /// Everything was moved to this target. A server that continued here would miss it.
    case away(String)

    /// As stored: a word, and the other end.
    package var words: (role: String, other: String) {
        switch self {
        case .into(let from): ("into", from)
        case .away(let to): ("away", to)
        }
    }

    package init(role: String, other: String) { self = role == "away" ? .away(other) : .into(other) }

    /// The error of a server that starts.
    package func error(_ label: String) -> StoreError {
        switch self {
        case .into(let from):
            .moved(
                path: label,
                reason: "is not complete: a migration into it has not ended. "
                    + "Run `herald migrate \(from) \(label)` again")
        case .away(let to):
            .moved(
                path: label,
                reason: "was moved to \(to), where the events since then are. Serve that, or `herald migrate` back")
        }
    }
}

extension MaintenanceError {
    package static func busy(_ holder: String, _ label: String) -> MaintenanceError {
        MaintenanceError(kind: .busy, description: "\(holder) uses \(label). Stop it, and run this again.")
    }

    package static func damaged(event: LogPosition, _ label: String) -> MaintenanceError {
        let advice =
            StoreError.isOnServer(label)
            ? "restore a backup of the database."
            : "`herald check` says what else is, and `herald salvage` makes a data folder without it."
        return MaintenanceError(
            kind: .damage, description: "Event \(event) of \(label) is damaged, and damage is not moved: \(advice)")
    }
}
