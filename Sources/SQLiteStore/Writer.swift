import Herald

/// The one connection that writes, with its statements: what a transaction's body works with.
final class Writer: StoreTransaction {
    let connection: Connection
    /// The last event of the log, those of the open transaction included.
    private(set) var head: Sequence
    private var committedHead: Sequence
    /// Pages of the log at which it is copied into the file.
    private var checkpointAt = Writer.checkpointPages

    private let beginStatement, commitStatement, rollbackStatement: Statement
    private let findEvent, appendEvent: Statement
    private let findAuthStatus, setAuthStatus, setAppState: Statement
    private let findAnswer, setAnswer, removeAnswers: Statement
    private let setDelegate, wipeDelegate, removeDelegateLane, removeDelegateWaiting: Statement
    private let addAttempt, setWaiting, endWaiting, setLane, removeLane, setSettled: Statement

    /// 16 MiB of log: a checkpoint costs milliseconds inside a commit, and at 4000 pages it is rare enough not to show
    /// in the 99th percentile (at 1000 it does).
    private static let checkpointPages = 4000
    /// While a reader or a full disk holds the log back, another try after this many more.
    private static let retryPages = 1000
    /// 64 MiB: longer than this, the log is cut as soon as no reader needs it.
    private static let longPages = 16384

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        self.connection = connection
        connection.watchLog()
        head = try connection.integer("SELECT max(sequence) FROM events")
        committedHead = head
        beginStatement = try prepare("BEGIN IMMEDIATE")
        commitStatement = try prepare("COMMIT")
        rollbackStatement = try prepare("ROLLBACK")
        findEvent = try prepare("SELECT \(LoggedEvent.columns) FROM events WHERE app = ?1 AND id = ?2")
        appendEvent = try prepare("INSERT INTO events (\(LoggedEvent.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
        findAuthStatus = try prepare(
            "SELECT \(AuthStatus.columns) FROM auth_status WHERE app = ?1 AND user_id = ?2")
        setAuthStatus = try prepare(
            "INSERT OR REPLACE INTO auth_status (\(AuthStatus.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        setAppState = try prepare("INSERT OR REPLACE INTO app_states (\(AppState.columns)) VALUES (?1, ?2, ?3, ?4)")
        findAnswer = try prepare(
            "SELECT \(StoredAnswer.columns) FROM answers WHERE app = ?1 AND key = ?2 AND expires_at > ?3")
        setAnswer = try prepare(
            """
            INSERT OR REPLACE INTO answers (\(StoredAnswer.columns), app, key, expires_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        removeAnswers = try prepare(
            """
            DELETE FROM answers WHERE rowid IN
            (SELECT rowid FROM answers WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)
            """)
        setDelegate = try prepare(
            """
            INSERT INTO delegates (\(WebhookDelegate.columns))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
            ON CONFLICT (key) DO UPDATE SET
            status = excluded.status, updated_at = excluded.updated_at, version = excluded.version,
            url = excluded.url, events = excluded.events, subjects = excluded.subjects,
            description = excluded.description, metadata = excluded.metadata,
            max_in_flight = excluded.max_in_flight, timeout_seconds = excluded.timeout_seconds,
            retry_schedule = excluded.retry_schedule, headers = excluded.headers, secrets = excluded.secrets
            WHERE deleted_at IS NULL
            """)
        wipeDelegate = try prepare(
            """
            UPDATE delegates SET deleted_at = ?2, updated_at = ?2, url = '', events = '', subjects = '',
            description = '', metadata = '', retry_schedule = '', headers = '', secrets = x''
            WHERE key = ?1 AND deleted_at IS NULL
            """)
        removeDelegateLane = try prepare("DELETE FROM lanes WHERE delegate = ?1")
        removeDelegateWaiting = try prepare("DELETE FROM waiting WHERE delegate = ?1")
        addAttempt = try prepare(
            """
            INSERT INTO attempts (delegate, event, number, started_at, duration, status, failure, detail, excerpt)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """)
        // A loop may still report on a delegate that is deleted by now: that must not bring its rows back.
        let lives = "EXISTS (SELECT 1 FROM delegates WHERE key = ?1 AND deleted_at IS NULL)"
        setWaiting = try prepare(
            "INSERT OR REPLACE INTO waiting (\(WaitingDelivery.columns)) SELECT ?1, ?2, ?3, ?4, ?5 WHERE \(lives)")
        endWaiting = try prepare("DELETE FROM waiting WHERE delegate = ?1 AND event = ?2")
        setLane = try prepare(
            "INSERT OR REPLACE INTO lanes (\(LanePosition.columns)) SELECT ?1, ?2, ?3 WHERE \(lives)")
        removeLane = try prepare("DELETE FROM lanes WHERE delegate = ?1")
        setSettled = try prepare("UPDATE progress SET settled = ?1")
    }

    // MARK: The transaction itself

    func begin() throws(StoreError) {
        // Only when an earlier rollback failed.
        if connection.isInTransaction { try rollbackStatement.run() }
        try beginStatement.run()
    }

    /// Durable when it returns; when it throws, nothing was acknowledged and `rollback` comes next.
    func commit() throws(StoreError) {
        try commitStatement.run()
        committedHead = head
    }

    func rollback() {
        head = committedHead
        // After some errors SQLite has rolled back already.
        if connection.isInTransaction { try? rollbackStatement.run() }
    }

    /// Copies the log into the file when it has grown long.
    func checkpointIfDue() throws(StoreError) {
        guard connection.logPages >= checkpointAt else { return }
        let pages = connection.logPages
        // Before the attempt, so that one that fails is not made again with each commit.
        checkpointAt = pages + Writer.retryPages
        if try connection.checkpoint(pages > Writer.longPages ? .truncate : .passive) {
            connection.logPages = 0
            checkpointAt = Writer.checkpointPages
        }
    }

    // MARK: Events

    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent? {
        findEvent.bind(1, app.rawValue)
        findEvent.bind(2, id)
        return try findEvent.row { LoggedEvent($0) }
    }

    func append(_ event: Event) throws(StoreError) -> Sequence {
        let sequence = head + 1
        appendEvent.bind(1, sequence)
        appendEvent.bind(2, event.app.rawValue)
        appendEvent.bind(3, event.id)
        appendEvent.bind(4, event.type)
        appendEvent.bind(5, event.subject)
        appendEvent.bind(6, event.time)
        try appendEvent.run(7, lent: event.data)
        head = sequence
        return sequence
    }

    // MARK: Current values

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus? {
        findAuthStatus.bind(1, app.rawValue)
        findAuthStatus.bind(2, userID)
        return try findAuthStatus.row { AuthStatus($0) }
    }

    func setAuthStatus(_ status: AuthStatus) throws(StoreError) {
        setAuthStatus.bind(1, status.app.rawValue)
        setAuthStatus.bind(2, status.userID)
        setAuthStatus.bind(3, status.isLoggedIn ? 1 : 0)
        setAuthStatus.bind(5, status.since)
        setAuthStatus.bind(6, status.eventID)
        try setAuthStatus.run(4, lent: status.user)
    }

    func setAppState(_ state: AppState) throws(StoreError) {
        setAppState.bind(1, state.app.rawValue)
        setAppState.bind(3, state.since)
        setAppState.bind(4, state.eventID)
        try setAppState.run(2, lent: state.state)
    }

    // MARK: Idempotency

    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer? {
        findAnswer.bind(1, app.rawValue)
        findAnswer.bind(2, key)
        findAnswer.bind(3, now)
        return try findAnswer.row { row throws(StoreError) in try StoredAnswer(row) }
    }

    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) throws(StoreError) {
        setAnswer.bind(1, copying: answer.fingerprint)
        setAnswer.bind(2, Int64(answer.status))
        setAnswer.bind(3, TextList.encode(answer.headers))
        setAnswer.bind(5, app.rawValue)
        setAnswer.bind(6, key)
        setAnswer.bind(7, expiresAt)
        try setAnswer.run(4, lent: answer.body)
    }

    func removeExpiredAnswers(now: Int64, limit: Int) throws(StoreError) {
        removeAnswers.bind(1, now)
        removeAnswers.bind(2, Int64(limit))
        try removeAnswers.run()
    }

    // MARK: Delegates

    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError) {
        let settings = delegate.settings
        setDelegate.bind(1, delegate.key)
        setDelegate.bind(2, delegate.app.rawValue)
        setDelegate.bind(3, delegate.id)
        setDelegate.bind(4, delegate.status.rawValue)
        setDelegate.bind(5, delegate.start)
        setDelegate.bind(6, delegate.createdAt)
        setDelegate.bind(7, delegate.updatedAt)
        setDelegate.bind(8, delegate.version)
        setDelegate.bind(9, settings.url)
        setDelegate.bind(10, TextList.encode(settings.events.map(\.text)))
        setDelegate.bind(11, TextList.encode(settings.subjects))
        setDelegate.bind(12, settings.description)
        setDelegate.bind(13, TextList.encode(settings.metadata))
        setDelegate.bind(14, Int64(settings.maxInFlight))
        setDelegate.bind(15, Int64(settings.timeoutSeconds))
        setDelegate.bind(16, TextList.encode(settings.retrySchedule.map(\.description)))
        setDelegate.bind(17, TextList.encode(settings.headers))
        try setDelegate.run(18, lent: TextList.encode(delegate.state.secrets.map(\.secret.bytes)))
        if connection.changes == 0 { throw .failed(reason: "delegate \(delegate.id) was deleted") }
    }

    func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError) {
        wipeDelegate.bind(1, key)
        wipeDelegate.bind(2, time)
        try wipeDelegate.run()
        for statement in [removeDelegateLane, removeDelegateWaiting] {
            statement.bind(1, key)
            try statement.run()
        }
    }

    // MARK: Checkpoints

    func write(_ checkpoint: Checkpoint) throws(StoreError) {
        for record in checkpoint.attempts { try add(record) }
        for delivery in checkpoint.waiting {
            setWaiting.bind(1, delivery.delegate)
            setWaiting.bind(2, delivery.event)
            setWaiting.bind(3, Int64(delivery.attempts))
            setWaiting.bind(4, delivery.dueAt)
            setWaiting.bind(5, Int64(delivery.state.rawValue))
            try setWaiting.run()
        }
        for delivery in checkpoint.ended {
            endWaiting.bind(1, delivery.delegate)
            endWaiting.bind(2, delivery.event)
            try endWaiting.run()
        }
        for lane in checkpoint.lanes {
            setLane.bind(1, lane.delegate)
            setLane.bind(2, lane.cursor)
            setLane.bind(3, lane.position)
            try setLane.run()
        }
        for delegate in checkpoint.caughtUp {
            removeLane.bind(1, delegate)
            try removeLane.run()
        }
        if let settled = checkpoint.settled {
            setSettled.bind(1, settled)
            try setSettled.run()
        }
    }

    private func add(_ record: AttemptRecord) throws(StoreError) {
        addAttempt.bind(1, record.delegate)
        addAttempt.bind(2, record.event)
        addAttempt.bind(3, Int64(record.number))
        addAttempt.bind(4, record.startedAt)
        addAttempt.bind(5, record.duration)
        addAttempt.bind(6, record.status.map { Int64($0) })
        addAttempt.bind(7, record.failure?.rawValue)
        addAttempt.bind(8, record.detail.isEmpty ? nil : record.detail)
        // Not bound is NULL.
        if record.excerpt.isEmpty { try addAttempt.run() } else { try addAttempt.run(9, lent: record.excerpt) }
    }
}
