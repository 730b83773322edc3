/// Is told when somebody logs in or out. Every method has a default implementation, so a delegate has only those that it
/// needs.
///
/// ```swift
/// final class Greeter: AuthEventsDelegate {
///     func userIsLoggedIn(user: Account) { print("Hello, \(user.name)") }
/// }
/// ```
/// A delegate without a method that takes the user says which type it is: `typealias User = Account`.
public protocol AuthEventsDelegate<User>: AnyObject, Sendable {
    /// What is told of a user.
    associatedtype User: Sendable

    /// Somebody has logged in.
    func userIsLoggedIn(user: User)

    /// Somebody has logged out.
    func userIsLoggedOut()

    /// Whether somebody is logged in has changed.
    func userAuthStatusChanged()

    /// This user has logged out; `nil` when it isn't known which. By default ``userIsLoggedOut()``: implement this one where
    /// there is more than one user.
    func userIsLoggedOut(user: User?)

    /// Whether this user is logged in has changed; what isn't known is `nil`. By default ``userAuthStatusChanged()``.
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?)
}

extension AuthEventsDelegate {
    public func userIsLoggedIn(user: User) {}
    public func userIsLoggedOut() {}
    public func userAuthStatusChanged() {}
    public func userIsLoggedOut(user: User?) { userIsLoggedOut() }
    public func userAuthStatusChanged(user: User?, isLoggedIn: Bool?) { userAuthStatusChanged() }
}

/// What an ``AuthEventsDelegate`` is told, as a value.
public enum AuthEvent<User: Sendable>: Sendable {
    /// This user has logged in.
    case loggedIn(User)
    /// This user has logged out; `nil` when it isn't known who.
    case loggedOut(User?)
    /// Whether this user is logged in has changed; what isn't known is `nil`.
    case statusChanged(User?, isLoggedIn: Bool?)
}

extension AuthEvent: Equatable where User: Equatable {}

/// A closure that is told.
final class AuthHandler<User: Sendable>: AuthEventsDelegate {
    private let handle: @Sendable (AuthEvent<User>) -> Void

    init(_ handle: @escaping @Sendable (AuthEvent<User>) -> Void) { self.handle = handle }

    func userIsLoggedIn(user: User) { handle(.loggedIn(user)) }
    func userIsLoggedOut(user: User?) { handle(.loggedOut(user)) }
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?) {
        handle(.statusChanged(user, isLoggedIn: isLoggedIn))
    }
}
