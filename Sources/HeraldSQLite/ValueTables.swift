import HeraldCore

/// Current values, as the writer has them: `auth_status`, `app_states` and `event_types`.
struct ValueTables {
    private let findAuthStatus, setAuthStatus, removeAuthStatus: Statement
    private let setAppState, setEventType, removeEventType: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        findAuthStatus = try prepare(
            "SELECT \(AuthStatus.columns) FROM auth_status WHERE app = ?1 AND user_id = ?2")
        setAuthStatus = try prepare(
            "INSERT OR REPLACE INTO auth_status (\(AuthStatus.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        removeAuthStatus = try prepare("DELETE FROM auth_status WHERE app = ?1 AND user_id = ?2")
        setAppState = try prepare("INSERT OR REPLACE INTO app_states (\(AppState.columns)) VALUES (?1, ?2, ?3, ?4)")
        setEventType = try prepare(
            """
            INSERT OR REPLACE INTO event_types (\(EventTypeRecord.columns))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """)
        removeEventType = try prepare("DELETE FROM event_types WHERE app = ?1 AND type = ?2")
    }

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus? {
        findAuthStatus.bind(1, app.rawValue)
        findAuthStatus.bind(2, userID)
        return try findAuthStatus.row { AuthStatus($0) }
    }

    func set(_ status: AuthStatus) throws(StoreError) {
        setAuthStatus.bind(1, status.app.rawValue)
        setAuthStatus.bind(2, status.userID)
        setAuthStatus.bind(3, status.isLoggedIn ? 1 : 0)
        setAuthStatus.bind(5, status.since)
        setAuthStatus.bind(6, status.eventID)
        try setAuthStatus.run(4, lent: status.user)
    }

    func removeAuthStatus(app: AppKey, userID: String) throws(StoreError) {
        removeAuthStatus.bind(1, app.rawValue)
        removeAuthStatus.bind(2, userID)
        try removeAuthStatus.run()
    }

    func set(_ state: AppState) throws(StoreError) {
        setAppState.bind(1, state.app.rawValue)
        setAppState.bind(3, state.since)
        setAppState.bind(4, state.eventID)
        try setAppState.run(2, lent: state.state)
    }

    func set(_ type: EventTypeRecord) throws(StoreError) {
        setEventType.bind(1, type.app.rawValue)
        setEventType.bind(2, type.type)
        setEventType.bind(3, type.description)
        setEventType.bind(4, copying: type.example)
        setEventType.bind(5, copying: type.schema)
        setEventType.bind(6, type.check.rawValue)
        setEventType.bind(7, type.createdAt)
        setEventType.bind(8, type.updatedAt)
        setEventType.bind(9, type.version)
        try setEventType.run()
    }

    func removeEventType(_ type: String, app: AppKey) throws(StoreError) {
        removeEventType.bind(1, app.rawValue)
        removeEventType.bind(2, type)
        try removeEventType.run()
    }
}
