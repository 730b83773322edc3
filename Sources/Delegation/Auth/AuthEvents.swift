/// Notifies delegates of logins and logouts.
///
/// ```swift
/// AuthEvents<Account>.shared.addDelegate(greeter)
/// AuthEvents<Account>.shared.userIsLoggedIn(user: ada)
/// ```
///
/// To post an event, call the method of the delegates: an `AuthEvents` is itself a delegate, which forwards each call
/// to its own delegates. So it can be added to another one, or to a Herald hub.
///
/// Delegates are called on the thread that posts, in the order of their registration, before the call returns. No
/// delegate is notified of a logout before the login that precedes it: an event that is posted during a notification,
/// or by another thread meanwhile, follows after all delegates were notified of the previous one.
public final class AuthEvents<User: Sendable>: AuthEventsDelegate {
    private let delegates = MulticastDelegate<any AuthEventsDelegate<User>>()
    /// Delivers on the thread that finds it idle.
    private let mailbox = CallQueue { $0.deliverAll() }

    /// Creates a separate instance.
    public init() {}

    /// The instance that the whole process shares, one for each type of user.
    public static var shared: AuthEvents {
        sharedInstances.withLock { instances in
            if let instance = instances[ObjectIdentifier(User.self)] as? AuthEvents { return instance }
            let instance = AuthEvents()
            instances[ObjectIdentifier(User.self)] = instance
            return instance
        }
    }

    /// Adds a delegate after the others; see ``MulticastDelegate``.
    /// - Returns: whether it was added; `false` if it is already a member.
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

    /// Posts that this user has logged in.
    public func userIsLoggedIn(user: User) { tell { $0.userIsLoggedIn(user: user) } }

    /// Posts that a user has logged out.
    public func userIsLoggedOut() { userIsLoggedOut(user: nil) }

    /// Posts that the login status has changed.
    public func userAuthStatusChanged() { userAuthStatusChanged(user: nil, isLoggedIn: nil) }

    /// Posts that this user has logged out.
    public func userIsLoggedOut(user: User?) { tell { $0.userIsLoggedOut(user: user) } }

    /// Posts that the login status of this user has changed.
    public func userAuthStatusChanged(user: User?, isLoggedIn: Bool?) {
        tell { $0.userAuthStatusChanged(user: user, isLoggedIn: isLoggedIn) }
    }

    private func tell(_ message: @escaping @Sendable (any AuthEventsDelegate<User>) -> Void) {
        mailbox.add { [delegates] in delegates.invokeDelegates(message) }
    }
}

/// By the type of the user, because generic types can't have static stored properties.
private let sharedInstances = Lock<[ObjectIdentifier: any Sendable]>([:])
