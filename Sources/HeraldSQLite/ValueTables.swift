import HeraldCore
import HeraldStore

/// Current values, for the writer: the tables `auth_status` and `app_states`.
struct ValueTables {
    private let findAuthStatus, setAuthStatus: Statement
    private let findAppState, setAppState: Statement

    init(_ connection: Connection) throws(StoreError) {
        func prepare(_ sql: String) throws(StoreError) -> Statement { try Statement(connection, sql) }
        findAuthStatus = try prepare(
            "SELECT \(AuthStatus.columns) FROM auth_status WHERE app = ?1 AND user_id = ?2")
        setAuthStatus = try prepare(
            "INSERT OR REPLACE INTO auth_status (\(AuthStatus.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        findAppState = try prepare("SELECT \(AppState.columns) FROM app_states WHERE app = ?1")
        setAppState = try prepare("INSERT OR REPLACE INTO app_states (\(AppState.columns)) VALUES (?1, ?2, ?3, ?4)")
    }

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus? {
        findAuthStatus.bind(1, app.rawValue)
        findAuthStatus.bind(2, userID)
        return try findAuthStatus.row()
    }

    func set(_ status: AuthStatus) throws(StoreError) {
        setAuthStatus.bind(1, status.app.rawValue)
        setAuthStatus.bind(2, status.userID)
        setAuthStatus.bind(3, status.isLoggedIn ? 1 : 0)
        setAuthStatus.bind(5, status.since)
        setAuthStatus.bind(6, status.eventID)
        try setAuthStatus.run(4, lent: status.user)
    }

    func appState(_ app: AppKey) throws(StoreError) -> AppState? {
        findAppState.bind(1, app.rawValue)
        return try findAppState.row()
    }

    func set(_ state: AppState) throws(StoreError) {
        setAppState.bind(1, state.app.rawValue)
        setAppState.bind(3, state.since)
        setAppState.bind(4, state.eventID)
        try setAppState.run(2, lent: state.state)
    }
}
