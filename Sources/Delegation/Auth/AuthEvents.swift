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
/// A delegate is called where it was added: on the actor of the code that adds it, or on the thread that posts. See
/// ``SharedMulticastDelegate``. No delegate is notified of a logout before the login that precedes it: an event that is
/// posted during a notification, or by another thread meanwhile, follows after the previous one.
public final class AuthEvents<User: Sendable>: AuthEventsDelegate, Sendable {
    @usableFromInline typealias Delegate = any AuthEventsDelegate<User>

    @usableFromInline let delegates = SharedMulticastDelegate<Delegate>()

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

    // MARK: Delegates

    /// Adds a delegate after the others, on the actor of the calling code.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether it is kept alive.
    ///   - isolation: where it is called: the actor of the calling code.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public func addDelegate<Observer: AuthEventsDelegate>(
        _ delegate: Observer, holding: DelegateHolding = .weak, isolation: isolated any Actor = #isolation
    ) -> Bool where Observer.User == User { delegates.membership.add(delegate as Delegate, holding, on: isolation) }

    /// Adds a delegate after the others, on the actor of the calling code, or on the thread of each post if that code has
    /// no actor.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether it is kept alive.
    ///   - isolation: where it is called: the actor of the calling code, or `nil` for the thread of each post.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public func addDelegate<Observer: AuthEventsDelegate & Sendable>(
        _ delegate: Observer, holding: DelegateHolding = .weak, isolation: isolated (any Actor)? = #isolation
    ) -> Bool where Observer.User == User { delegates.membership.add(delegate as Delegate, holding, on: isolation) }

    /// Removes a delegate. Its pending calls are dropped.
    /// - Returns: whether it was a member.
    @discardableResult
    public func removeDelegate<Observer: AnyObject>(_ delegate: Observer) -> Bool {
        delegates.membership.remove(.address(of: delegate))
    }

    /// Calls the closure for each event, until the token is released: on the actor of the calling code, or on the thread
    /// of each post if that code has no actor.
    @inlinable
    public func observe(
        isolation: isolated (any Actor)? = #isolation, _ handle: @escaping @Sendable (AuthEvent<User>) -> Void
    ) -> DelegateToken {
        MainThread.record(on: isolation)
        return delegates.membership.token(for: AuthHandler(handle) as Delegate, on: isolation)
    }

    /// Calls the closure for each event, on the main actor, until the token is released: before the post returns when
    /// that is made on the main thread, later otherwise.
    @inlinable
    public func observe(
        on actor: MainActor, isolation: isolated (any Actor)? = #isolation,
        _ handle: @escaping @MainActor @Sendable (AuthEvent<User>) -> Void
    ) -> DelegateToken {
        MainThread.record(on: isolation)
        return delegates.membership.token(for: MainAuthHandler(handle) as Delegate, on: actor)
    }

    /// Calls the closure for each event, on the actor, until the token is released. The actor is not kept alive.
    @inlinable
    public func observe<Isolation: Actor>(
        on actor: Isolation, _ handle: @escaping @Sendable (_ actor: isolated Isolation, AuthEvent<User>) -> Void
    ) -> DelegateToken {
        let handler = AuthHandler<User> { [weak actor] event in actor?.assumeIsolated { handle($0, event) } }
        return delegates.membership.token(for: handler as Delegate, on: actor)
    }

    /// The events from now on, as a sequence. It ends when this object is released.
    ///
    /// - Parameter buffering: what becomes of events that the loop has not taken yet.
    public func events(
        buffering: AsyncStream<AuthEvent<User>>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<AuthEvent<User>> {
        delegates.membership.stream(buffering) { feed in AuthHandler { feed.yield($0) } as Delegate }
    }

    // MARK: Posting

    /// Posts that this user has logged in.
    @inlinable
    public func userIsLoggedIn(user: User) { delegates.invokeDelegates { $0.userIsLoggedIn(user: user) } }

    /// Posts that a user has logged out; `nil` if the user is unknown.
    @inlinable
    public func userIsLoggedOut(user: User? = nil) { delegates.invokeDelegates { $0.userIsLoggedOut(user: user) } }

    /// Posts that the login status of a user has changed; unknown values are `nil`.
    @inlinable
    public func userAuthStatusChanged(user: User? = nil, isLoggedIn: Bool? = nil) {
        delegates.invokeDelegates { $0.userAuthStatusChanged(user: user, isLoggedIn: isLoggedIn) }
    }
}

/// By the type of the user, because generic types can't have static stored properties.
private let sharedInstances = Lock<[ObjectIdentifier: any Sendable]>([:])
