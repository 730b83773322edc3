import HeraldModel

/// Why something on the server failed.
enum PostgresError: Error {
    /// There is no session, and nothing was sent.
    case unavailable(String)
    /// The session was lost after something was sent: what was sent may have been done.
    case lost(String)
    /// The server has refused a statement.
    /// - Parameters:
    ///   - unit: the number of the unit of work (`PostgresSession.run`) that it was in, from 0.
    ///   - state: SQLSTATE.
    case refused(unit: Int, state: String, message: String)
}

extension PostgresError {
    /// The server has chosen this transaction to end a deadlock, or it cannot be in an order with others (40P01, 40001). It has
    /// to run again, as the documentation says:
    /// https://www.postgresql.org/docs/15/mvcc-serialization-failure-handling.html
    func isConflict(through unit: Int) -> Bool {
        guard case .refused(let failed, let state, _) = self else { return false }
        return failed <= unit && ["40P01", "40001"].contains(state)
    }

    /// There is no partition for a row: more was written than was foreseen, or the partition was dropped.
    var isOfPartition: Bool { if case .refused(_, "23514", _) = self { true } else { false } }

    /// The error of a read, or of what can be repeated: nothing was changed by it.
    func ofRead(_ database: String) -> StoreError {
        switch self {
        case .unavailable(let reason), .lost(let reason): .unavailable(reason: reason)
        case .refused(_, let state, let message): StoreError(state: state, message, database)
        }
    }

    /// The error of a commit.
    /// - Parameter committing: the units up to this one decide whether anything was written. What is refused in them is not; of
    ///   what comes after them the outcome is not known.
    func ofCommit(_ database: String, through committing: Int) -> StoreError {
        switch self {
        case .unavailable(let reason): .unavailable(reason: reason)
        case .lost(let reason): .unknown(reason: reason)
        case .refused(let unit, let state, let message):
            unit <= committing ? StoreError(state: state, message, database) : .unknown(reason: message)
        }
    }
}

extension StoreError {
    /// An error of a refused statement, which had no effect.
    /// - Parameter state: SQLSTATE (https://www.postgresql.org/docs/15/errcodes-appendix.html).
    init(state: String, _ message: String, _ database: String) {
        switch state {
        case Schema.outdated: self = .outdated
        case "53100": self = .full
        // Missing rights, a read-only transaction.
        case "42501", "25006": self = .notWritable(path: database, reason: message)
        // Damaged data, a damaged index.
        case "XX001", "XX002": self = .corrupt(path: database, reason: message)
        // A table or a column that is missing, or there already.
        case "42P01", "42703", "42P07", "42701", "3F000":
            self = .corrupt(path: database, reason: "its schema is not that of Herald: \(message)")
        // Input or output has failed.
        case "58030": self = .inputOutput(reason: message)
        // A lock that is held for long, serialization, a deadlock; no connection, resources or server.
        case "55P03", "40001", "40P01", "25P03": self = .unavailable(reason: message)
        default:
            // A data exception: a stored value, since parameters fit their columns.
            if state.hasPrefix("22") {
                self = .unreadable(reason: "\(message) (SQLSTATE \(state))")
                return
            }
            // No connection, no resources, an operator: a canceled statement, or a server that stops.
            let isUnavailable = ["08", "53", "57"].contains { state.hasPrefix($0) }
            self = isUnavailable ? .unavailable(reason: message) : .failed(reason: "\(message) (SQLSTATE \(state))")
        }
    }
}
