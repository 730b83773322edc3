package import HeraldCore

/// A store from which all moves to another one, or to which.
///
/// Events are read and written with checksums as `EventReading.Checksums.combined` has them; a damaged event can't be read.
/// The mark of an event is that checksum, the mark of an attempt its event: 0 once it was erased.
package protocol MoveEnd: AnyObject {
    /// For messages.
    var label: String { get }
    /// The move that this end is part of; `nil` for a store that servers may use.
    var state: MoveState? { get throws }

    /// Marks it, durably.
    func set(_ state: MoveState?) throws

    /// Keeps servers out until this object is released.
    /// - Returns: whether there are none.
    func lock() throws -> Bool

    /// The tables of its schema that a move does not copy.
    func unknownTables() throws -> [String]
    func columns(of table: String) throws -> [MovedColumn]

    // MARK: Logs

    /// The first and the last number; an empty range at 0 if there is none.
    func ends(of log: MovedLog) throws -> Range<Int64>
    /// Ascending: at most `limit`, and fewer if they are large; at least one if there is one.
    func rows(
        of log: MovedLog, _ columns: [MovedColumn], in numbers: ClosedRange<Int64>, limit: Int
    ) throws -> [MovedRow]
    func blocks(of log: MovedLog) throws -> [Int64: BlockSum]
    /// By number.
    func marks(of log: MovedLog, in numbers: ClosedRange<Int64>) throws -> [Int64: Int64]
    /// Removes rows and adds others, in one transaction.
    func put(_ log: MovedLog, _ columns: [MovedColumn], _ rows: [MovedRow], removing numbers: [Int64]) throws

    // MARK: Tables

    /// All rows, some at a time.
    func visit(_ table: String, _ columns: [MovedColumn], _ body: ([MovedRow]) throws -> Void) throws
    /// Replaces all rows, in one transaction.
    /// - Parameter produce: calls its parameter with some rows at a time.
    func replace(
        _ table: String, _ columns: [MovedColumn], _ produce: (@escaping ([MovedRow]) throws -> Void) throws -> Void
    ) throws

    /// Derives counters and partitions from the rows that were written.
    func finish() throws
}

/// The most bytes of rows that are read at once, but for one row.
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

/// Why a move was refused. The text is for operators.
package struct MoveError: Error, Equatable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// There is nothing to move.
        case input
        /// It can't go there.
        case output
        /// The input is damaged, or of another version.
        case damage
        /// A server has to stop first.
        case busy
        /// A defect.
        case failed
    }

    package let kind: Kind
    package let description: String

    package init(kind: Kind, description: String) {
        self.kind = kind
        self.description = description
    }

    package static func damaged(event: LogPosition, _ label: String) -> MoveError {
        MoveError(
            kind: .damage,
            description: "Event \(event) of \(label) is damaged, and damage is not moved: `herald check` says what "
                + "else is, and `herald salvage` makes a data folder without it.")
    }
}
