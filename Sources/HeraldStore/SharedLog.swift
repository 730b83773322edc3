package import HeraldModel
import HeraldRuntime

/// Shared statements of the log.
package enum LogStatement: Int, CaseIterable, Sendable {
    case addMark, removeMarks, lastBefore, markBefore, markSince, acceptedSince, lastKnown, about, firstEvent,
        removeEvents, removeWaitingOfRange, firstWaiting, removeAttemptsBefore, removeAttemptsThrough, removeStatus,
        removeExpiredAnswers, addRemoval, removals, authStatus, appState

    func text(_ dialect: SQLDialect) -> String {
        switch self {
        case .addMark:
            """
            INSERT INTO marks (\(LogMark.columns)) VALUES (?1, ?2)
            ON CONFLICT (time) DO UPDATE SET sequence = excluded.sequence
            """
        // Keeps the last mark before the first event, ?1: it still bounds when the following events arrived.
        case .removeMarks:
            "DELETE FROM marks WHERE sequence < (SELECT max(sequence) FROM marks WHERE sequence < ?1)"
        case .lastBefore: "SELECT sequence FROM marks WHERE time < ?1 ORDER BY time DESC LIMIT 1"
        case .markBefore: "SELECT \(LogMark.columns) FROM marks WHERE time < ?1 ORDER BY time DESC LIMIT 1"
        case .markSince: "SELECT \(LogMark.columns) FROM marks WHERE time >= ?1 ORDER BY time LIMIT 1"
        // The first event after ?1, up to ?2, that is known to be accepted since time ?7. The window's bounds of times are ?3 and
        // ?4, those of ids ?5 and ?6; ?8 is the first id of time ?7.
        case .acceptedSince:
            """
            SELECT sequence FROM events WHERE sequence > ?1 AND sequence <= ?2
                AND CASE WHEN id BETWEEN ?5 AND ?6 THEN id >= ?8 ELSE time BETWEEN ?3 AND ?4 AND time >= ?7 END
            ORDER BY sequence LIMIT 1
            """
        // The last event after ?1, before ?2, whose acceptance time is known.
        case .lastKnown:
            """
            SELECT sequence FROM events WHERE sequence > ?1 AND sequence < ?2
                AND (id BETWEEN ?5 AND ?6 OR time BETWEEN ?3 AND ?4)
            ORDER BY sequence DESC LIMIT 1
            """
        // Scans a part of the log, ?3 to ?4: an index by subject would make each append more expensive. (The sum keeps SQLite
        // from scanning all ids of the app.)
        case .about:
            """
            SELECT sequence FROM events WHERE sequence BETWEEN ?3 AND ?4 AND subject = ?1 AND app + 0 = ?2
            ORDER BY sequence LIMIT ?5
            """
        case .firstEvent: "SELECT sequence FROM events ORDER BY sequence LIMIT 1"
        case .removeEvents: "DELETE FROM events WHERE sequence BETWEEN ?1 AND ?2"
        // Deletes at most ?3 rows of events ?1 to ?2, in states above ?4.
        case .removeWaitingOfRange:
            """
            DELETE FROM waiting WHERE (delegate, event) IN
                (SELECT delegate, event FROM waiting WHERE event BETWEEN ?1 AND ?2 AND state > ?4 ORDER BY event LIMIT ?3)
            """
        case .firstWaiting: "SELECT min(event) FROM waiting WHERE event >= ?1"
        // Of the ?2 attempts with the smallest ids, those that began before ?1. A query by time would need an index. Attempts are in
        // the order in which they ended, so old ones have small ids.
        case .removeAttemptsBefore:
            "DELETE FROM attempts WHERE started_at < ?1 AND \(Self.isFirst("id < (\(Self.lastAttempt(dialect)))"))"
        // The ?2 attempts with the smallest ids, up to ?1. Of each, returns `AttemptRecord.storedBytes`.
        case .removeAttemptsThrough:
            """
            DELETE FROM attempts WHERE \(Self.isFirst("id <= ?1 AND id < (\(Self.lastAttempt(dialect)))"))
            RETURNING CAST(64 + coalesce(\(dialect.byteCount("detail")), 0)
                + coalesce(\(dialect.byteCount("excerpt")), 0) AS bigint)
            """
        case .removeStatus: "DELETE FROM auth_status WHERE app = ?1 AND user_id = ?2"
        case .removeExpiredAnswers:
            """
            DELETE FROM answers WHERE (app, key) IN
                (SELECT app, key FROM answers WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)
            """
        case .addRemoval:
            """
            INSERT INTO removals (\(Removal.columns)) VALUES (?1, ?2, ?3)
            ON CONFLICT (part, cause) DO UPDATE SET count = removals.count + excluded.count
            """
        case .removals: "SELECT \(Removal.columns) FROM removals"
        case .authStatus: "SELECT \(AuthStatus.columns) FROM auth_status WHERE app = ?1 AND user_id = ?2"
        case .appState: "SELECT \(AppState.columns) FROM app_states WHERE app = ?1"
        }
    }

    /// Whether an attempt is one of the first ?2 with a condition.
    private static func isFirst(_ condition: String) -> String {
        "id IN (SELECT id FROM attempts WHERE \(condition) ORDER BY id LIMIT ?2)"
    }

    /// The id of the last attempt, which is never removed. PostgreSQL then reads one partition.
    private static func lastAttempt(_ dialect: SQLDialect) -> String {
        dialect == .sqlite ? "SELECT max(id) FROM attempts" : "SELECT id FROM attempts ORDER BY id DESC LIMIT 1"
    }
}

/// Changes of the log.
extension SharedTransaction {
    package func addMark(_ mark: LogMark) throws(StoreError) {
        try change(.log(.addMark), [mark.sequence, mark.time])
    }

    package func removeExpiredAnswers(now: Int64, limit: Int) throws(StoreError) -> Int {
        try change(.log(.removeExpiredAnswers), [now, limit])
    }

    package func count(_ removal: Removal) throws(StoreError) { try record(.log(.addRemoval), removal.values) }

    package func removeEvents(
        _ range: ClosedRange<LogPosition>, limit: Int
    ) throws(StoreError) -> RemovedEvents {
        let first = try firstEvent()
        let last = try head
        let lower = max(range.lowerBound, first)
        var upper = min(range.upperBound, last - 1, lower - 1 + min(LogPosition(limit), last))
        var needed: LogPosition?
        if lower <= upper {
            needed = try firstRetrying(lower...upper)
            if let needed { upper = needed - 1 }
        }
        // With those before the log: an attempt that was open when its event was removed may have left a row.
        if lower <= upper { upper = try removeEnded((lower == first ? 0 : lower)...upper, limit: limit) }
        let through = needed == upper + 1 ? upper + 1 : upper
        guard lower <= upper else { return RemovedEvents(count: 0, through: through, first: first) }
        let count = try change(.log(.removeEvents), [lower, upper])
        let kept = try firstEvent()
        try change(.log(.removeMarks), [kept])
        try removed(lower...upper, first: first, kept: kept)
        return RemovedEvents(count: count, through: through, first: kept)
    }

    package func removeAttempts(before time: Int64, limit: Int) throws(StoreError) -> Int {
        let removed = try change(.log(.removeAttemptsBefore), [time, limit])
        try removedAttempts()
        return removed
    }

    package func removeAttempts(through id: Int64, limit: Int) throws(StoreError) -> RemovedAttempts {
        let bytes = try rows(.log(.removeAttemptsThrough), [id, limit]) { $0.integer(0) }
        try removedAttempts()
        return RemovedAttempts(count: bytes.count, bytes: bytes.reduce(0, +))
    }

    /// The first event in a range whose delivery waits for a retry: the request for it may be newer than the scan that found the range.
    private func firstRetrying(_ range: ClosedRange<LogPosition>) throws(StoreError) -> LogPosition? {
        try first(.delivery(.waitingEvents), [range.lowerBound, range.upperBound]) { row throws(StoreError) in
            try row.natural(0, "position")
        }
    }

    /// Removes at most `limit` rows of ended deliveries of the events in a range. The row of one that waits is removed by its lane, or
    /// by an erasure, which the lane follows: a lane that has left it in the store would wait for it.
    /// - Returns: the last event up to which no rows are left.
    private func removeEnded(_ range: ClosedRange<LogPosition>, limit: Int) throws(StoreError) -> LogPosition {
        let removed = try change(
            .log(.removeWaitingOfRange),
            [range.lowerBound, range.upperBound, limit, WaitingDelivery.State.retrying.rawValue])
        guard removed == limit else { return range.upperBound }
        let next = try first(.log(.firstWaiting), [range.lowerBound]) { row throws(StoreError) in
            try row.optionalNatural(0, "position")
        }
        return min(range.upperBound, ((next ?? nil) ?? .max) - 1)
    }
}

extension Removal {
    /// The parameters of `LogStatement.addRemoval`.
    package var values: [any ColumnConvertible] { [part.rawValue, cause.rawValue, count] }
}

extension SharedStatements {
    package func firstEvent() throws(StoreError) -> LogPosition { try position(.log(.firstEvent)) ?? 1 }

    package func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus? {
        try first(.log(.authStatus), [app, userID])
    }

    package func appState(_ app: AppKey) throws(StoreError) -> AppState? {
        try first(.log(.appState), [app])
    }
}

/// Reads the log.
extension SharedReader {
    package var wall: Int64 { Clock.system.wall() }

    package func lastEvent(before time: Int64) throws(StoreError) -> LogPosition {
        try position(.log(.lastBefore), [time]) ?? 0
    }

    package func sequence(since time: Int64) throws(StoreError) -> LogPosition { try places(at: time).early }

    package func lastEvent(through time: Int64) throws(StoreError) -> LogPosition {
        // A `Date` may be later than any time.
        try places(at: time == .max ? time : time + 1).late - 1
    }

    /// The first event that may have been accepted at this time or later, and the first that is known to have been.
    private func places(at time: Int64) throws(StoreError) -> (early: LogPosition, late: LogPosition) {
        func mark(_ statement: SharedStatement) throws(StoreError) -> LogMark? {
            try first(statement, [time])
        }
        let window = AcceptanceWindow(
            before: try mark(.log(.markBefore)), later: try mark(.log(.markSince)), first: try firstEvent(),
            head: try end(), now: wall)
        if window.isEmpty { return (window.after + 1, window.end) }
        func values(until end: LogPosition) -> [any ColumnConvertible] {
            [window.after, end, window.low, window.high, window.ids.lowerBound, window.ids.upperBound]
        }
        let since: [any ColumnConvertible] = [time, AcceptanceWindow.ids(at: time).first]
        let late = try position(.log(.acceptedSince), values(until: window.until) + since) ?? window.end
        return (try position(.log(.lastKnown), values(until: late)).map { $0 + 1 } ?? window.after + 1, late)
    }

    /// Runs one statement for each part of the log, so that none takes long or holds a snapshot for long.
    package func sequences(
        about subject: String, app: AppKey, after sequence: LogPosition, limit: Int
    ) throws(StoreError) -> [LogPosition] {
        let head = try end()
        var found: [LogPosition] = []
        var start = max(try firstEvent(), sequence + 1)
        while start <= head, found.count < limit {
            let end = min(head, start + partLength - 1)
            found += try rows(.log(.about), [subject, app, start, end, limit - found.count]) {
                row throws(StoreError) in try row.natural(0, "position")
            }
            start = end + 1
        }
        return found
    }

    package func removals() throws(StoreError) -> [Removal] {
        try rows(.log(.removals), []) { Removal($0) }.compactMap { $0 }
    }
}

/// The number of events in a part of the log that `LogStatement.about` scans, which takes about ten milliseconds.
private let partLength: LogPosition = 50_000
