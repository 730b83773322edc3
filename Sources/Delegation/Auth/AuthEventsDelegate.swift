/// Receives logins and logouts.
///
/// ```swift
/// final class Greeter: AuthEventsDelegate {
///     func userIsLoggedIn(user: Account, sender: any DelegateSender) { print("Hello, \(user.name)") }
///     func userIsLoggedOut(user: Account?, sender: any DelegateSender) { print("Good-bye") }
///     func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?, sender: any DelegateSender) {}
/// }
/// ```
/// No method has a default implementation: a method with a slightly different type, such as `user: Account?` instead of
/// `Account`, does not compile, where otherwise it would never be called. For a single event a closure is shorter, see
/// ``AuthEvents/observe(initial:_:)``.
///
/// The sender is the ``AuthEvents`` to which the delegate was added, or the hub.
///
/// The protocol needs no actor, and takes classes of any: a class of the main actor conforms to it with
/// `@MainActor AuthEventsDelegate`, and is called there when it was added there.
public protocol AuthEventsDelegate<User>: AnyObject {
    /// The type that describes a user.
    associatedtype User: Sendable

    /// A user has logged in.
    func userIsLoggedIn(user: User, sender: any DelegateSender)

    /// A user has logged out; `nil` if the user is unknown.
    func userIsLoggedOut(user: User?, sender: any DelegateSender)

    /// The login status of a user has changed; unknown values are `nil`.
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?, sender: any DelegateSender)
}

/// A call of an ``AuthEventsDelegate`` as a value.
public enum AuthEvent<User: Sendable>: Sendable {
    /// This user has logged in.
    case loggedIn(User)
    /// This user has logged out; `nil` if the user is unknown.
    case loggedOut(User?)
    /// The login status of this user has changed; unknown values are `nil`.
    case statusChanged(User?, isLoggedIn: Bool?)
}

extension AuthEvent: Equatable where User: Equatable {}

extension AuthEvent {
    /// Calls the method of a delegate.
    @inlinable
    func send(to delegate: any AuthEventsDelegate<User>, from sender: any DelegateSender) {
        switch self {
        case .loggedIn(let user): delegate.userIsLoggedIn(user: user, sender: sender)
        case .loggedOut(let user): delegate.userIsLoggedOut(user: user, sender: sender)
        case .statusChanged(let user, let isLoggedIn):
            delegate.userAuthStatusChanged(user: user, isLoggedIn: isLoggedIn, sender: sender)
        }
    }

    /// The user who is logged in after the event.
    /// - Parameter current: the user who was logged in before.
    @usableFromInline
    func user(after current: User?) -> User? {
        switch self {
        case .loggedIn(let user), .statusChanged(.some(let user), isLoggedIn: .some(true)): user
        case .loggedOut(let user), .statusChanged(let user, isLoggedIn: .some(false)):
            // A logout of an unknown user is that of the current one; so is any, if users can't be compared.
            if let user, let current, !isSame(user, current) { current } else { nil }
        case .statusChanged: current
        }
    }
}

/// Whether two values have the same identity, or are equal; `true` if their type does not say.
private func isSame<User>(_ left: User, _ right: User) -> Bool {
    if let left = left as? any Identifiable { return left.hasIdentity(of: right) }
    if let left = left as? any Equatable { return left.equals(right) }
    return true
}

extension Identifiable {
    fileprivate func hasIdentity(of other: Any) -> Bool { (other as? Self).map { $0.id == id } ?? false }
}

extension Equatable {
    fileprivate func equals(_ other: Any) -> Bool { (other as? Self).map { $0 == self } ?? false }
}

/// A closure as a delegate.
@usableFromInline
final class AuthHandler<User: Sendable>: AuthEventsDelegate {
    @usableFromInline let handle: (AuthEvent<User>) -> Void

    @inlinable
    init(_ handle: @escaping (AuthEvent<User>) -> Void) { self.handle = handle }

    @inlinable
    func userIsLoggedIn(user: User, sender: any DelegateSender) { handle(.loggedIn(user)) }
    @inlinable
    func userIsLoggedOut(user: User?, sender: any DelegateSender) { handle(.loggedOut(user)) }
    @inlinable
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?, sender: any DelegateSender) {
        handle(.statusChanged(user, isLoggedIn: isLoggedIn))
    }
}

/// A closure of the main actor as a delegate. The runtime checks that it is called there.
@usableFromInline
@MainActor
final class MainAuthHandler<User: Sendable>: @preconcurrency AuthEventsDelegate {
    @usableFromInline let handle: @MainActor @Sendable (AuthEvent<User>) -> Void

    @inlinable
    nonisolated init(_ handle: @escaping @MainActor @Sendable (AuthEvent<User>) -> Void) { self.handle = handle }

    @inlinable
    func userIsLoggedIn(user: User, sender: any DelegateSender) { handle(.loggedIn(user)) }
    @inlinable
    func userIsLoggedOut(user: User?, sender: any DelegateSender) { handle(.loggedOut(user)) }
    @inlinable
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?, sender: any DelegateSender) {
        handle(.statusChanged(user, isLoggedIn: isLoggedIn))
    }
}
