/// Tells who wants to know that somebody logged in or out.
///
/// ```swift
/// AuthEvents<Account>.shared.addDelegate(greeter)
/// AuthEvents<Account>.shared.userIsLoggedIn(user: ada)
/// ```
///
/// To post is to call the method that the delegates have: an `AuthEvents` is itself a delegate that passes on what it is
/// told. So it can be added to another one, or to a Herald hub.
///
/// Delegates are told on the thread that posts, in the order of their registration, before the call returns. Nobody hears of a
/// logout before the login that it follows: what is posted from inside a notification, or by another thread meanwhile,
/// is told when all have been told of the one before.
public final class AuthEvents<User: Sendable>: AuthEventsDelegate {
    private let delegates = MulticastDelegate<any AuthEventsDelegate<User>>()
    /// Delivers on the thread that finds it idle.
    private let mailbox = CallQueue { $0.deliverAll() }

    /// Creates an instance of one's own.
    public init() {}

    /// The instance that the whole process shares; one for each type of user.
    public static var shared: AuthEvents {
        sharedInstances.withLock { instances in
            if let instance = instances[ObjectIdentifier(User.self)] as? AuthEvents { return instance }
            let instance = AuthEvents()
            instances[ObjectIdentifier(User.self)] = instance
            return instance
        }
    }

    /// Adds a delegate behind the others; see ``MulticastDelegate``.
    /// - Returns: whether it was added; `false` when it is a member already.
    @discardableResult
    public func addDelegate(_ delegate: any AuthEventsDelegate<User>, holding: DelegateHolding = .weak) -> Bool {
        delegates.addDelegate(delegate, holding: holding)
    }

    /// Removes a delegate.
    /// - Returns: whether it was a member.
    @discardableResult
    public func removeDelegate(_ delegate: any AuthEventsDelegate<User>) -> Bool { delegates.removeDelegate(delegate) }

    /// Calls the closure for each event, until the token is released.
    public func addHandler(_ handle: @escaping @Sendable (AuthEvent<User>) -> Void) -> DelegateToken {
        delegates.token(for: AuthHandler(handle))
    }

    // MARK: Posting

    /// Tells that this user has logged in.
    public func userIsLoggedIn(user: User) { tell { $0.userIsLoggedIn(user: user) } }

    /// Tells that somebody has logged out.
    public func userIsLoggedOut() { userIsLoggedOut(user: nil) }

    /// Tells that it has changed whether somebody is logged in.
    public func userAuthStatusChanged() { userAuthStatusChanged(user: nil, isLoggedIn: nil) }

    /// Tells that this user has logged out.
    public func userIsLoggedOut(user: User?) { tell { $0.userIsLoggedOut(user: user) } }

    /// Tells that it has changed whether this user is logged in.
    public func userAuthStatusChanged(user: User?, isLoggedIn: Bool?) {
        tell { $0.userAuthStatusChanged(user: user, isLoggedIn: isLoggedIn) }
    }

    private func tell(_ message: @escaping @Sendable (any AuthEventsDelegate<User>) -> Void) {
        mailbox.add { [delegates] in delegates.invokeDelegates(message) }
    }
}

/// By the type of the user. Generic types have no static storage of their own.
private let sharedInstances = Lock<[ObjectIdentifier: any Sendable]>([:])
