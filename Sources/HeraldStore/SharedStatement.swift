import HeraldCore

/// The statements that both databases run. The differences between them are the prefix of a parameter and a few expressions
/// (`SQLDialect`). Parameters are written `?1`, `?2`, …, and each statement uses all of its own.
///
/// The tables that change with each event (log, attempts, values, responses, checkpoints) have statements of their own in each store:
/// one for each row in SQLite, one for many rows in PostgreSQL.
package enum SharedStatement: Int, CaseIterable, Sendable {
    // The registry and access.
    case setDelegate, wipeDelegate
    case removeLanes, removeWaiting, removeReplays, removeStatistics, removeHeads, removeUnannounced
    case setEventType, removeEventType, setKey, removeKey, setSession, removeSession, setApp, markAppDeleted
    case removeStatuses, removeAppStates, removeAnswers, addAudit, trimAudit, audit, deletedDelegateID
    // Deliveries.
    case addReplay, removeReplay, countReplays, replays, removeOldStatistics, statistics, recipients
    case attemptsOfEvent, waitingOfEvent, waitingEvents
    case pageOfAll, pageOfDelegate, countOfAll, countOfDelegate, dueRows, rowsOfSubject, rowsOfEvents
    // The log.
    case addMark, removeMarks, lastBefore, markBefore, markSince, acceptedSince, lastKnown, about
    case firstEvent, removeEvents, removeWaitingOfRange, firstWaiting, removeStatus, removeExpiredAnswers
    case addRemoval, removals, authStatus, appState

    /// The statement in a dialect.
    package func sql(_ dialect: SQLDialect) -> String {
        String(text(dialect).map { $0 == "?" ? dialect.mark : $0 })
    }
}

/// The differences between the databases that shared statements depend on.
package enum SQLDialect: Sendable {
    case sqlite, postgres

    /// Begins a parameter.
    fileprivate var mark: Character { self == .sqlite ? "?" : "$" }

    /// Makes SQLite use an index that it would not choose by itself.
    fileprivate func indexed(by index: String) -> String { self == .sqlite ? "INDEXED BY \(index)" : "" }
}

extension SharedStatement {
    private func text(_ dialect: SQLDialect) -> String {
        switch self {
        case .setDelegate: DelegateColumns.table.upsert(on: "key") + " WHERE delegates.deleted_at IS NULL"
        case .wipeDelegate:
            """
            UPDATE delegates SET deleted_at = ?2, updated_at = ?2, \(DelegateColumns.table.wiping)
            WHERE key = ?1 AND deleted_at IS NULL
            """
        case .removeLanes: "DELETE FROM lanes WHERE delegate = ?1"
        case .removeWaiting: "DELETE FROM waiting WHERE delegate = ?1"
        case .removeReplays: "DELETE FROM replays WHERE delegate = ?1"
        case .removeStatistics: "DELETE FROM statistics WHERE delegate = ?1"
        case .removeHeads: "DELETE FROM \(dialect == .sqlite ? "attempt_heads" : "heads") WHERE delegate = ?1"
        case .removeUnannounced: "DELETE FROM unannounced WHERE delegate = ?1"
        case .setEventType: EventTypeColumns.table.upsert(on: "app, type")
        case .removeEventType: "DELETE FROM event_types WHERE app = ?1 AND type = ?2"
        case .setKey: KeyColumns.table.upsert(on: "id")
        case .removeKey: "DELETE FROM keys WHERE id = ?1"
        case .setSession: SessionColumns.table.upsert(on: "digest")
        case .removeSession: "DELETE FROM passes WHERE digest = ?1"
        case .setApp: AppColumns.table.upsert(on: "key")
        case .markAppDeleted:
            "UPDATE apps SET deleted_at = ?2, \(AppColumns.table.wiping) WHERE key = ?1"
        case .removeStatuses: "DELETE FROM auth_status WHERE app = ?1"
        case .removeAppStates: "DELETE FROM app_states WHERE app = ?1"
        case .removeAnswers: "DELETE FROM answers WHERE app = ?1"
        case .addAudit: AuditColumns.table.insert
        case .trimAudit: Self.trimAudit(dialect)
        case .audit: "SELECT \(StoredAuditEntry.columns) FROM audit WHERE id < ?1 ORDER BY id DESC LIMIT ?2"
        case .deletedDelegateID: "SELECT id FROM delegates WHERE key = ?1 AND deleted_at IS NOT NULL"
        default: textOfDeliveries(dialect)
        }
    }

    /// Ids of PostgreSQL have gaps.
    private static func trimAudit(_ dialect: SQLDialect) -> String {
        let last =
            switch dialect {
            case .sqlite: "(SELECT max(id) FROM audit) - \(AuditEntry.limit)"
            case .postgres: "(SELECT id FROM audit ORDER BY id DESC OFFSET \(AuditEntry.limit) LIMIT 1)"
            }
        return "DELETE FROM audit WHERE id <= \(last)"
    }

    private func textOfDeliveries(_ dialect: SQLDialect) -> String {
        switch self {
        case .addReplay:
            """
            INSERT INTO replays (delegate, start, cursor, until, created_at)
            SELECT ?1, ?2, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM delegates WHERE key = ?1 AND deleted_at IS NULL)
            RETURNING id
            """
        case .removeReplay: "DELETE FROM replays WHERE id = ?1 AND delegate = ?2"
        case .countReplays: "SELECT count(*) FROM replays WHERE delegate = ?1"
        case .replays: "SELECT \(Replay.columns) FROM replays WHERE delegate = ?1 ORDER BY id"
        case .removeOldStatistics:
            """
            DELETE FROM statistics WHERE (delegate, start) IN
                (SELECT delegate, start FROM statistics WHERE start < ?1 LIMIT ?2)
            """
        case .statistics:
            "SELECT \(DeliveryStatistics.columns) FROM statistics WHERE delegate = ?1 AND start >= ?2 ORDER BY start"
        case .recipients:
            """
            SELECT delegate FROM attempts WHERE event = ?1 UNION SELECT delegate FROM waiting WHERE event = ?1
            ORDER BY delegate
            """
        case .attemptsOfEvent: "SELECT \(StoredAttempt.columns) FROM attempts WHERE event = ?1 ORDER BY id"
        case .waitingOfEvent:
            "SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting WHERE event = ?1 ORDER BY delegate"
        case .waitingEvents:
            """
            SELECT DISTINCT event FROM waiting \(dialect.indexed(by: "waiting_by_state"))
            WHERE state = 1 AND event BETWEEN ?1 AND ?2 ORDER BY event
            """
        // Lists have statements for one state each, since only then an index has the rows in the order of the list. For one
        // delegate the primary key would do as well, but reads its rows of all states.
        case .pageOfAll: Self.page(dialect.indexed(by: "waiting_by_state"), "")
        case .pageOfDelegate: Self.page(dialect.indexed(by: "waiting_of_delegate"), "AND delegate = ?8")
        case .countOfAll: "SELECT count(*) \(Self.listed(dialect.indexed(by: "waiting_by_state")))"
        case .countOfDelegate:
            "SELECT count(*) \(Self.listed(dialect.indexed(by: "waiting_of_delegate"))) AND delegate = ?5"
        case .dueRows:
            Self.rows(
                dialect.indexed(by: "waiting_by_time"), "(due_at, event) > (?3, ?4)", orderedBy: "due_at, event")
        case .rowsOfSubject:
            Self.rows(
                dialect.indexed(by: "waiting_of_delegate"),
                "event >= ?3 AND (SELECT subject FROM events WHERE sequence = waiting.event) = ?4", orderedBy: "event")
        case .rowsOfEvents:
            Self.rows(dialect.indexed(by: "waiting_of_delegate"), "event BETWEEN ?3 AND ?4", orderedBy: "event")
        default: textOfLog
        }
    }

    private static func listed(_ index: String) -> String {
        """
        FROM waiting \(index) WHERE state = ?1 AND event BETWEEN ?2 AND ?3
        AND EXISTS (SELECT 1 FROM delegates WHERE key = delegate AND app = ?4)
        """
    }

    private static func page(_ index: String, _ more: String) -> String {
        """
        SELECT \(WaitingDelivery.columnsWithSubject) \(listed(index)) AND (event, delegate) < (?5, ?6) \(more)
        ORDER BY event DESC, delegate DESC LIMIT ?7
        """
    }

    /// A part of the rows of one delegate.
    private static func rows(_ index: String, _ condition: String, orderedBy order: String) -> String {
        """
        SELECT \(WaitingDelivery.columnsWithSubject) FROM waiting \(index)
        WHERE delegate = ?1 AND state = 1 AND \(condition) ORDER BY \(order) LIMIT ?2
        """
    }

    private var textOfLog: String {
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
        // Deletes at most ?3 rows of events ?1 to ?2.
        case .removeWaitingOfRange:
            """
            DELETE FROM waiting WHERE (delegate, event) IN
                (SELECT delegate, event FROM waiting WHERE event BETWEEN ?1 AND ?2 ORDER BY event LIMIT ?3)
            """
        case .firstWaiting: "SELECT min(event) FROM waiting WHERE event >= ?1"
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
        // SQLite refuses an empty statement when the store is opened.
        default: ""
        }
    }
}
