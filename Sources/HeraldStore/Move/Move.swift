import HeraldCore

/// Moves everything from one store to another, in two steps.
///
/// `copy` may run any number of times while servers use the source: it adds what has come to the logs since. `complete` needs
/// the source locked: it adds the rest, compares both logs in blocks, and replaces what retention and erasure have changed in
/// the meantime; then it writes all other tables, and reads what it has written. Nothing but what is in the target says how far
/// a move has come, so it can end anywhere and begin again.
package final class Move {
    package struct Summary: Sendable {
        package var events = 0
        package var attempts = 0
        /// The number of rows of all other tables.
        package var rows = 0
    }

    private let source, target: any MoveEnd
    private var logColumns: [MovedLog: [MovedColumn]] = [:]
    private var tableColumns: [String: [MovedColumn]] = [:]

    private static let batch = 4096

    package init(from source: any MoveEnd, to target: any MoveEnd) throws {
        self.source = source
        self.target = target
        for end in [source, target] {
            let unknown = try end.unknownTables()
            guard unknown.isEmpty else {
                throw failed("the tables \(unknown.joined(separator: ", ")) of \(end.label) are unknown")
            }
        }
        for log in MovedLog.allCases { logColumns[log] = try columns(of: log.rawValue) }
        for table in MovedTables.all { tableColumns[table] = try columns(of: table) }
        try begin()
    }

    private func failed(_ reason: String) -> MoveError {
        MoveError(kind: .failed, description: "Nothing can be moved: \(reason). This is a defect of Herald.")
    }

    private func columns(of table: String) throws -> [MovedColumn] {
        let columns = try source.columns(of: table)
        guard !columns.isEmpty, try Set(columns) == Set(target.columns(of: table)) else {
            throw failed("the columns of the table \(table) differ")
        }
        return columns
    }

    // MARK: Beginning

    /// Makes sure that the target is free, or has what was moved before; and marks it.
    private func begin() throws {
        let (from, to) = (try source.state, try target.state)
        switch from {
        case .into?: throw MoveError(kind: .damage, description: from?.error(source.label).description ?? "")
        case .away(let place)? where !isInto(to):
            throw MoveError(
                kind: .damage, description: "\(source.label) was moved already: its events are in \(place).")
        default: break
        }
        let secret = try secret(source)
        guard secret.count > 0 else {
            throw MoveError(
                kind: .input, description: "No server has used \(source.label) yet: there is nothing to move.")
        }
        let found = try self.secret(target)
        let isFree = try found.isEmpty && target.ends(of: .events).isEmpty
        guard isFree || to != nil && (found == secret || found.isEmpty) else {
            throw MoveError(
                kind: .output,
                description: "\(target.label) has another Herald's events already. "
                    + "Choose an empty database, or a folder that does not exist yet.")
        }
        try target.set(.into(source.label))
        // By which this target is known from now on.
        try replace("server")
    }

    private func isInto(_ state: MoveState?) -> Bool {
        if case .into = state { return true }
        return false
    }

    private func secret(_ end: any MoveEnd) throws -> [UInt8] {
        var secret: [UInt8] = []
        try end.visit("server", tableColumns["server", default: []]) { rows in
            for row in rows { secret = row.bytes(0) }
        }
        return secret
    }

    // MARK: Logs

    /// How many numbers of the logs are still to be copied.
    package func missing() throws -> Int {
        try MovedLog.allCases.reduce(0) { sum, log in
            let (from, to) = (try source.ends(of: log), try target.ends(of: log))
            return sum + Int(max(0, from.upperBound - max(from.lowerBound, to.upperBound)))
        }
    }

    /// Adds what the target lacks at the end of each log.
    /// - Parameter progress: called with how many numbers were copied since the last call.
    /// - Returns: how many rows were copied.
    @discardableResult
    package func copy(progress: (Int) -> Void = { _ in }) throws -> Int {
        var copied = 0
        for log in MovedLog.allCases {
            let columns = logColumns[log, default: []]
            let end = try source.ends(of: log).upperBound
            let next = try target.ends(of: log).upperBound
            if next >= end { continue }
            try visit(source, log, in: next...end - 1) { rows, numbers in
                try target.put(log, columns, rows, removing: [])
                try verify(log, RowSum(rows), in: numbers)
                progress(numbers.count)
                copied += rows.count
            }
        }
        return copied
    }

    private func number(_ row: MovedRow, _ log: MovedLog) -> Int64 {
        logColumns[log, default: []].firstIndex { $0.name == log.key }.map { row.integer(Int32($0)) } ?? 0
    }

    /// Reads rows, some at a time.
    private func visit(
        _ end: any MoveEnd, _ log: MovedLog, in numbers: ClosedRange<Int64>,
        _ body: (_ rows: [MovedRow], _ numbers: ClosedRange<Int64>) throws -> Void
    ) throws {
        var next = numbers.lowerBound
        while next <= numbers.upperBound {
            let rows = try end.rows(
                of: log, logColumns[log, default: []], in: next...numbers.upperBound, limit: Self.batch)
            guard let first = rows.first, let last = rows.last else { return }
            try body(rows, number(first, log)...number(last, log))
            next = number(last, log) + 1
        }
    }

    /// Reads the written rows again, and compares them.
    private func verify(_ log: MovedLog, _ written: RowSum, in numbers: ClosedRange<Int64>) throws {
        var found = RowSum()
        try visit(target, log, in: numbers) { rows, _ in for row in rows { found.add(row) } }
        guard found == written else {
            throw failed("the \(log) \(numbers.lowerBound) to \(numbers.upperBound) are not as they were written")
        }
    }

    /// Makes blocks equal that are not: the source has changed after it was copied.
    private func mend(_ log: MovedLog) throws -> Int {
        let columns = logColumns[log, default: []]
        let from = try source.blocks(of: log)
        let to = try target.blocks(of: log)
        for block in Set(from.keys).union(to.keys).sorted() where from[block] != to[block] {
            let numbers = MovedLog.numbers(ofBlock: block)
            let wanted = try source.marks(of: log, in: numbers)
            let found = try target.marks(of: log, in: numbers)
            try target.put(log, columns, [], removing: found.filter { wanted[$0.key] != $0.value }.keys.sorted())
            var sum = RowSum()
            try visit(source, log, in: numbers) { rows, _ in
                for row in rows { sum.add(row) }
                let missing = rows.filter { found[number($0, log)] != wanted[number($0, log)] }
                if !missing.isEmpty { try target.put(log, columns, missing, removing: []) }
            }
            try verify(log, sum, in: numbers)
        }
        return Int(from.values.reduce(0) { $0 + $1.count })
    }

    // MARK: Tables

    /// - Returns: the number of rows.
    @discardableResult
    private func replace(_ table: String) throws -> Int {
        let columns = tableColumns[table, default: []]
        var (written, found) = (RowSum(), RowSum())
        try target.replace(table, columns) { write in
            try source.visit(table, columns) { rows in
                for row in rows { written.add(row) }
                try write(rows)
            }
        }
        try target.visit(table, columns) { rows in for row in rows { found.add(row) } }
        guard found == written else { throw failed("the table \(table) is not as it was written") }
        return found.count
    }

    // MARK: Ending

    /// Copies the rest. Both ends have to be locked.
    package func complete(progress: (Int) -> Void = { _ in }) throws -> Summary {
        try copy(progress: progress)
        var summary = Summary()
        summary.events = try mend(.events)
        summary.attempts = try mend(.attempts)
        for table in MovedTables.all { summary.rows += try replace(table) }
        try target.finish()
        guard try source.lock(), try target.lock() else {
            throw MoveError(
                kind: .busy, description: "A server has started in the meantime. Stop it, and run this again.")
        }
        // In this order: at no time may a server use either of them.
        try source.set(.away(target.label))
        try target.set(nil)
        return summary
    }
}
