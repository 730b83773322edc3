/// The auth status and app state while the writer plans a transaction: the changes of the transaction so far, on top of
/// the projections. The writer's thread.
struct FamilyState {
    private struct User: Hashable {
        let app: AppKey
        let id: String
    }

    private let auth: AuthProjection
    private let appState: AppStateProjection
    private var statuses: [User: AuthStatus] = [:]
    private var states: [AppKey: AppState] = [:]

    init(_ auth: AuthProjection, _ appState: AppStateProjection) {
        self.auth = auth
        self.appState = appState
    }

    /// `nil` if the store has to be read.
    func authStatus(_ app: AppKey, _ userID: String) -> AuthStatus? {
        statuses[User(app: app, id: userID)] ?? auth.status(app, userID: userID)
    }

    func appState(_ app: AppKey) -> AppState? { states[app] ?? appState.state(app) }

    mutating func set(_ status: AuthStatus) { statuses[User(app: status.app, id: status.userID)] = status }
    mutating func set(_ state: AppState) { states[state.app] = state }
}
