import Synchronization

/// The rows that a store could not read, and has left out or replaced: a row of one tenant must not stop the others. Each is
/// counted and reported once.
///
/// Any thread; the lock guards the state for a few instructions.
package final class DamagedRows: Sendable {
    /// The rows of one table that were found since the last report.
    package struct Finding: Equatable, Sendable {
        package let table: String
        package fileprivate(set) var count: UInt64
        /// The key of the first row.
        package let row: String
        /// Why the first row can't be read.
        package let reason: String
    }

    package typealias Observer = @Sendable (Finding) -> Void

    private struct State {
        /// Bounded: rows beyond the limit are counted again each time they are read.
        var rows: Set<String> = []
        var count: UInt64 = 0
        var findings: [Finding] = []
        var observer: Observer?
    }

    private static let limit = 10_000
    /// The maximum characters of a key and of a reason, which may contain stored values.
    private static let maxCharacters = (row: 200, reason: 500)

    private let state = Mutex(State())

    package init() {}

    /// The number of rows found since the start.
    package var count: UInt64 { state.withLock { $0.count } }

    /// The rows that were not reported yet, by table.
    package var findings: [Finding] { state.withLock { $0.findings } }

    /// Receives the rows of each report from now on, and immediately those found before.
    /// - Parameter observer: called on the thread that reads; must not wait.
    package func observe(_ observer: @escaping Observer) {
        state.withLock { $0.observer = observer }
        report()
    }

    /// Records a row. `report` passes it to the observer.
    /// - Parameters:
    ///   - row: the values of its key.
    ///   - reason: why it can't be read.
    package func record(_ row: String, in table: String, _ reason: String) {
        let row = String(row.prefix(Self.maxCharacters.row))
        state.withLock { state in
            guard state.rows.count >= Self.limit || state.rows.insert("\(table) \(row)").inserted else { return }
            state.count += 1
            if let index = state.findings.firstIndex(where: { $0.table == table }) {
                state.findings[index].count += 1
            } else {
                let reason = String(reason.prefix(Self.maxCharacters.reason))
                state.findings.append(Finding(table: table, count: 1, row: row, reason: reason))
            }
        }
    }

    /// Passes the rows that were recorded since the last report to the observer, in one call for each table. A store calls it at the
    /// end of each read that can leave rows out. Without an observer the rows are kept.
    package func report() {
        let (found, observer) = state.withLock { state -> ([Finding], Observer?) in
            guard let observer = state.observer, !state.findings.isEmpty else { return ([], nil) }
            defer { state.findings = [] }
            return (state.findings, observer)
        }
        for finding in found { observer?(finding) }
    }
}
