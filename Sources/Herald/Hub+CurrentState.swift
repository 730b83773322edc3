public import FoundationEssentials
public import HeraldCore
public import HeraldModel

/// Whether a user is logged in: the result of `Hub.loginStatus(ofUser:)`.
public struct LoginStatus: Sendable {
    /// Whether the last event about the user is a login.
    public let isLoggedIn: Bool
    /// The JSON object `user` of the last login, which is kept after a logout; `null` if there was none.
    public let user: [UInt8]
    /// When the status last changed.
    public let date: Date
    /// The event that changed it.
    public let eventID: String

    fileprivate init(_ status: AuthStatus) {
        isLoggedIn = status.isLoggedIn
        user = status.user
        date = Date(milliseconds: status.since)
        eventID = status.eventID
    }

    /// Decodes ``user``.
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - decoder: `nil` for one that reads dates as RFC 3339 text, with or without a fraction.
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self, decoder: JSONDecoder? = nil) throws -> Value {
        try decodeJSON(type, user, decoder)
    }
}

/// The state of the app: the result of `Hub.currentAppState()`.
public struct CurrentAppState: Sendable {
    /// The state itself.
    public let state: EventState
    /// When it was set.
    public let date: Date
    /// The event that set it.
    public let eventID: String

    fileprivate init(_ state: AppState) {
        self.state = EventState(json: state.state)
        date = Date(milliseconds: state.since)
        eventID = state.eventID
    }
}

extension Hub {
    /// Whether a user is logged in, according to the events of the log.
    /// - Parameter userID: the `id` of the user.
    /// - Returns: `nil` if no event has been about the user.
    /// - Throws: that the hub can't read.
    public func loginStatus(ofUser userID: String) async throws(HubError) -> LoginStatus? {
        if let recent = committed.auth.status(.default, userID: userID) { return LoginStatus(recent) }
        return try await reading { try $0.authStatus(app: .default, userID: userID) }.map(LoginStatus.init)
    }

    /// The state of the app, according to the events of the log.
    /// - Returns: `nil` if none was published.
    /// - Throws: that the hub can't read.
    public func currentAppState() async throws(HubError) -> CurrentAppState? {
        if let recent = committed.appState.state(.default) { return CurrentAppState(recent) }
        if committed.appState.version(.default) == nil { return nil }
        return try await reading { try $0.appState(.default) }.map(CurrentAppState.init)
    }
}
