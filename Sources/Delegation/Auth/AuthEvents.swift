/// Notifies delegates of logins and logouts.
///
/// ```swift
/// AuthEvents<Account>.shared.addDelegate(greeter, initial: true)
/// AuthEvents<Account>.shared.userIsLoggedIn(user: ada)
/// ```
///
/// To post an event, call one of the three methods with its name. An `AuthEvents` is itself a delegate, which forwards each
/// call to its own delegates. So it can be added to another one, or to a Herald hub.
///
/// An instance follows one session: ``currentUser`` is the user of the last login, until a logout. A delegate that is added
/// late is notified of that login first, if it is added with `initial: true`.
///
/// A delegate is called where it was added: on the actor of the code that adds it, or on the thread that posts. See
/// ``SharedMulticastDelegate``. No delegate is notified of a logout before the login that precedes it: an event that is
/// posted during a notification, or by another thread at the same time, follows after the previous one.
///
/// `@unchecked Sendable` is correct because the lock of the members guards the user and the version.
public final class AuthEvents<User: Sendable>: AuthEventsDelegate, DelegateSender, @unchecked Sendable {
    @usableFromInline typealias Delegate = any AuthEventsDelegate<User>

    @usableFromInline let membership: Membership
    @usableFromInline var user: User?
    /// The number of events.
    @usableFromInline var version = 0

    /// Creates a separate instance.
    /// - Parameter pendingLimit: the number of events that may wait for each actor that is busy, at least 1. Another one
    ///   replaces the first of them.
    public init(pendingLimit: Int = Membership.defaultLimit) { membership = Membership(limit: pendingLimit) }

    /// The instance that the whole process shares, one for each type of user.
    public static var shared: AuthEvents {
        sharedInstances.withLock { instances in
            if let instance = instances[ObjectIdentifier(User.self)] as? AuthEvents { return instance }
            let instance = AuthEvents()
            instances[ObjectIdentifier(User.self)] = instance
            return instance
        }
    }

    /// The user of the last login; `nil` after a logout, and before the first login.
    ///
    /// A logout of another user changes nothing: users are compared by their `id` if they are `Identifiable`, otherwise
    /// with `==` if they are `Equatable`. Of other types, every logout is that of the current user. A change of the
    /// status to `true` with a user is a login; to `false`, a logout.
    public var currentUser: User? { versioned.user }

    // MARK: Delegates

    /// Adds a delegate after the others, on the actor of the calling code.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether it is kept alive.
    ///   - initial: whether it is notified first of the login of the current user, if there is one.
    ///   - isolation: where it is called: the actor of the calling code.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public func addDelegate<Observer: AuthEventsDelegate>(
        _ delegate: Observer, holding: DelegateHolding = .weak, initial: Bool = false,
        isolation: isolated any Actor = #isolation
    ) -> Bool where Observer.User == User {
        membership.add(delegate as Delegate, holding, on: isolation, first: initial ? { self.first } : nil)
    }

    /// Adds a delegate after the others, on the actor of the calling code, or on the thread of each post if that code has
    /// no actor.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether it is kept alive.
    ///   - initial: whether it is notified first of the login of the current user, if there is one.
    ///   - isolation: where it is called: the actor of the calling code, or `nil` for the thread of each post.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public func addDelegate<Observer: AuthEventsDelegate & Sendable>(
        _ delegate: Observer, holding: DelegateHolding = .weak, initial: Bool = false,
        isolation: isolated (any Actor)? = #isolation
    ) -> Bool where Observer.User == User {
        membership.add(delegate as Delegate, holding, on: isolation, first: initial ? { self.first } : nil)
    }

    /// Removes a delegate. Its pending calls are dropped.
    /// - Returns: whether it was a member.
    @discardableResult
    public func removeDelegate<Observer: AnyObject>(_ delegate: Observer) -> Bool {
        membership.remove(.address(of: delegate))
    }

    /// Removes all delegates. Closures and sequences end too.
    public func removeAllDelegates() { membership.removeAll() }

    /// Whether the delegate is a member.
    public func contains<Observer: AnyObject>(_ delegate: Observer) -> Bool {
        membership.contains(.address(of: delegate))
    }

    /// The number of members, without released ones; closures and sequences included. Takes time linear in the number of
    /// members.
    public var count: Int { membership.count }

    /// The number of calls that were dropped because too many waited, one for each actor that did not receive it.
    public var droppedCount: Int { membership.droppedCount }

    // MARK: Closures

    /// Calls the closure for each event, on the thread of each post, until the token is released. `on:` names an actor
    /// instead.
    ///
    /// - Parameters:
    ///   - initial: whether the closure is called first with the login of the current user, if there is one.
    ///   - handle: is called with each event.
    @inlinable
    public func observe(
        initial: Bool = false, _ handle: @escaping @Sendable (AuthEvent<User>) -> Void
    ) -> DelegateToken { token(for: AuthHandler(handle), on: nil, initial) }

    /// Calls the closure for each event, on the main actor, until the token is released: before the post returns when
    /// that is made on the main thread, later otherwise.
    ///
    /// - Parameters:
    ///   - actor: `.main`.
    ///   - initial: whether the closure is called first with the login of the current user, if there is one.
    ///   - handle: is called with each event.
    @inlinable
    public func observe(
        on actor: MainActor, initial: Bool = false,
        _ handle: @escaping @MainActor @Sendable (AuthEvent<User>) -> Void
    ) -> DelegateToken { token(for: MainAuthHandler(handle), on: actor, initial) }

    /// Calls the closure for each event, on the actor, until the token is released. The actor is not kept alive.
    ///
    /// - Parameters:
    ///   - actor: where it is called.
    ///   - initial: whether the closure is called first with the login of the current user, if there is one.
    ///   - handle: is called with the actor and with each event.
    @inlinable
    public func observe<Isolation: Actor>(
        on actor: Isolation, initial: Bool = false,
        _ handle: @escaping @Sendable (_ actor: isolated Isolation, AuthEvent<User>) -> Void
    ) -> DelegateToken {
        let handler = AuthHandler<User> { [weak actor] event in actor?.assumeIsolated { handle($0, event) } }
        return token(for: handler, on: actor, initial)
    }

    @inlinable
    func token(for delegate: Delegate, on actor: (any Actor)?, _ initial: Bool) -> DelegateToken {
        // `as`, or it would be a member of its own class.
        membership.token(for: delegate as Delegate, on: actor, first: initial ? { self.first } : nil)
    }

    /// The events from now on, as a sequence. It ends when this object is released.
    ///
    /// - Parameters:
    ///   - initial: whether it begins with the login of the current user, if there is one.
    ///   - buffering: what becomes of events that the loop has not taken yet: the latest 10,000 wait.
    public func events(
        initial: Bool = false,
        buffering: AsyncStream<AuthEvent<User>>.Continuation.BufferingPolicy = .bufferingNewest(
            Membership.defaultLimit)
    ) -> AsyncStream<AuthEvent<User>> {
        membership.stream(
            buffering, delegate: { feed in AuthHandler { feed.yield($0) } as Delegate },
            first: initial ? { self.first } : nil)
    }

    // MARK: Posting

    /// Posts that this user has logged in.
    @inlinable
    public func userIsLoggedIn(user: User) { post(.loggedIn(user), leaving: user) }

    /// Posts that a user has logged out; `nil` if the user is unknown.
    @inlinable
    public func userIsLoggedOut(user: User? = nil) { post(.loggedOut(user)) }

    /// Posts that the login status of a user has changed; unknown values are `nil`.
    @inlinable
    public func userAuthStatusChanged(user: User? = nil, isLoggedIn: Bool? = nil) {
        post(.statusChanged(user, isLoggedIn: isLoggedIn))
    }

    @usableFromInline
    func post(_ event: AuthEvent<User>) {
        while true {
            // Users are compared without the lock, since that is foreign code, and again if another thread was faster.
            let (current, version) = versioned
            if post(event, leaving: event.user(after: current), ifVersion: version) { return }
        }
    }

    // MARK: With the lock

    @usableFromInline var versioned: (user: User?, version: Int) {
        membership.acquire()
        defer { membership.release() }
        return (user, version)
    }

    /// Calls the delegates, unless there was another event since that version.
    /// - Returns: whether they were called.
    @inlinable @discardableResult
    func post(_ event: AuthEvent<User>, leaving new: User?, ifVersion expected: Int? = nil) -> Bool {
        membership.acquire()
        if let expected, expected != version {
            membership.release()
            return false
        }
        let old = user
        user = new
        version &+= 1
        defer { withExtendedLifetime(old) {} }  // It is released without the lock.
        guard let round = membership.begin() else {
            let ready = membership.hasMembers ? membership.enqueue(message(event)) : nil
            membership.release()
            if let ready { membership.process(ready) }
            return true
        }
        membership.release()
        let released = round.members.forEachDelegate(Delegate.self) { event.send(to: $0, from: self) }
        membership.finish(round, released: released)
        return true
    }

    @inlinable
    func message(_ event: AuthEvent<User>) -> Message {
        ClosureMessage<Delegate> { event.send(to: $0, from: self) }
    }

    /// The login of the current user, for a new member; `nil` if there is none. Called with the lock.
    @inlinable var first: Message? { user.map { message(.loggedIn($0)) } }
}

extension AuthEvents {
    // MARK: Forwarding

    /// Posts the event of another sender.
    public func userIsLoggedIn(user: User, sender: any DelegateSender) { userIsLoggedIn(user: user) }

    /// Posts the event of another sender.
    public func userIsLoggedOut(user: User?, sender: any DelegateSender) { userIsLoggedOut(user: user) }

    /// Posts the event of another sender.
    public func userAuthStatusChanged(user: User?, isLoggedIn: Bool?, sender: any DelegateSender) {
        userAuthStatusChanged(user: user, isLoggedIn: isLoggedIn)
    }
}

/// By the type of the user, because generic types can't have static stored properties.
private let sharedInstances = Lock<[ObjectIdentifier: any Sendable]>([:])
