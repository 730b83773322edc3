import HeraldModel
import HeraldStore

/// Changes of current values, for the writer: the tables `auth_status` and `app_states`.
struct ValueTables {
    private let setAuthStatus, setAppState: Statement

    init(_ connection: Connection) throws(StoreError) {
        setAuthStatus = try connection.prepare(
            "INSERT OR REPLACE INTO auth_status (\(AuthStatus.columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
        setAppState = try connection.prepare(
            "INSERT OR REPLACE INTO app_states (\(AppState.columns)) VALUES (?1, ?2, ?3, ?4)")
    }

    func set(_ status: AuthStatus) throws(StoreError) {
        setAuthStatus.bind(1, status.app.rawValue)
        setAuthStatus.bind(2, status.userID)
        setAuthStatus.bind(3, status.isLoggedIn ? 1 : 0)
        setAuthStatus.bind(5, status.since)
        setAuthStatus.bind(6, status.eventID)
        try setAuthStatus.run(4, lent: status.user)
    }

    func set(_ state: AppState) throws(StoreError) {
        setAppState.bind(1, state.app.rawValue)
        setAppState.bind(3, state.since)
        setAppState.bind(4, state.eventID)
        try setAppState.run(2, lent: state.state)
    }
}
