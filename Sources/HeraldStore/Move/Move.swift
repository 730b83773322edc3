import HeraldModel

/// Copies everything from one store to another, while no server uses either of them.
///
/// The target is marked as incomplete until all of it is written, read again and compared. A copy that was interrupted is
/// repeated from the beginning.
package struct Move {
    package struct Summary: Sendable {
        package var events = 0
        package var attempts = 0
        /// The number of rows of all other tables.
        package var rows = 0
    }

    private let source, target: any MoveEnd
    private let columns: [String: [MovedColumn]]

    /// Checks that everything can be copied, and marks the target.
    package init(from source: any MoveEnd, to target: any MoveEnd) throws {
        (self.source, self.target) = (source, target)
        for end in [source, target] {
            let unknown = try end.unknownTables()
            guard unknown.isEmpty else {
                throw Self.failed("the tables \(unknown.joined(separator: ", ")) of \(end.label) are unknown")
            }
        }
        var columns: [String: [MovedColumn]] = [:]
        for table in MovedTables.all {
            let found = try source.columns(of: table)
            guard !found.isEmpty, try Set(found) == Set(target.columns(of: table)) else {
                throw Self.failed("the columns of the table \(table) differ")
            }
            columns[table] = found
        }
        self.columns = columns
        try begin()
    }

    private static func failed(_ reason: String) -> MaintenanceError {
        MaintenanceError(kind: .failed, description: "Nothing can be moved: \(reason). This is a defect of Herald.")
    }

    /// Makes sure that the target is free, or has what was moved before; and marks it.
    private func begin() throws {
        let (from, to) = (try source.state, try target.state)
        switch from {
        case .into?: throw MaintenanceError(kind: .damage, description: from?.error(source.label).description ?? "")
        case .away(let place)? where !isInto(to):
            throw MaintenanceError(
                kind: .damage, description: "\(source.label) was moved already: its events are in \(place).")
        default: break
        }
        let secret = try secret(source)
        guard secret.count > 0 else {
            throw MaintenanceError(
                kind: .input, description: "No server has used \(source.label) yet: there is nothing to move.")
        }
        let found = try self.secret(target)
        let isFree = try found.isEmpty && target.count("events") == 0
        guard isFree || to != nil && (found == secret || found.isEmpty) else {
            throw MaintenanceError(
                kind: .output,
                description: "\(target.label) has another Herald's events already. "
                    + "Choose an empty database, or a folder that does not exist yet.")
        }
        try target.set(.into(source.label))
    }

    private func isInto(_ state: MoveState?) -> Bool { if case .into = state { true } else { false } }

    private func secret(_ end: any MoveEnd) throws -> [UInt8] {
        var secret: [UInt8] = []
        try end.visit("server", columns["server", default: []]) { rows in
            for row in rows { secret = row.bytes(0) }
        }
        return secret
    }

    /// Copies everything, and leaves the target as the store that servers may use.
    /// - Parameter progress: called with the number of events and attempts that are copied, and that of all.
    package func run(progress: (_ copied: Int, _ all: Int) -> Void = { _, _ in }) throws -> Summary {
        let all = try source.count("events") + source.count("attempts")
        var summary = Summary()
        for table in MovedTables.all {
            switch table {
            case "events": summary.events = try replace(table) { progress($0, all) }
            case "attempts": summary.attempts = try replace(table) { progress(summary.events + $0, all) }
            default: summary.rows += try replace(table)
            }
        }
        try target.finish()
        for end in [source, target] where try end.isServed { throw MaintenanceError.busy("A server", end.label) }
        // In this order: at no time may a server use either of them.
        try source.set(.away(target.label))
        try target.set(nil)
        return summary
    }

    /// Replaces the rows of a table in the target, and compares them with those of the source.
    /// - Parameter progress: called with the number of rows that are copied.
    /// - Returns: the number of rows.
    private func replace(_ table: String, _ progress: (Int) -> Void = { _ in }) throws -> Int {
        let columns = columns[table, default: []]
        var (written, found) = (RowSum(), RowSum())
        try target.replace(table, columns) { write in
            try source.visit(table, columns) { rows in
                for row in rows { written.add(row) }
                try write(rows)
                progress(written.count)
            }
        }
        try target.visit(table, columns) { rows in for row in rows { found.add(row) } }
        guard found == written else { throw Self.failed("the table \(table) is not as it was written") }
        return found.count
    }
}
