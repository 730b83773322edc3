extension AuthStatus {
    /// The status after someone told that the user is (not) logged in. The time and the event of the last *change* stay
    /// when nothing changes.
    static func next(
        after current: AuthStatus?, userID: String, isLoggedIn: Bool, user: [UInt8]?, event: Event
    ) -> AuthStatus {
        let isChange = current?.isLoggedIn != isLoggedIn
        return AuthStatus(
            app: event.app, userID: userID, isLoggedIn: isLoggedIn, user: user ?? current?.user ?? Array("null".utf8),
            since: isChange ? event.time : current?.since ?? event.time,
            eventID: isChange ? event.id : current?.eventID ?? event.id)
    }
}
