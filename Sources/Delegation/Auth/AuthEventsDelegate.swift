/// Receives logins and logouts. Every method has a default implementation, so a delegate implements only those that it
/// needs.
///
/// ```swift
/// final class Greeter: AuthEventsDelegate {
///     func userIsLoggedIn(user: Account) { print("Hello, \(user.name)") }
/// }
/// ```
/// A delegate without a method that takes the user declares the type: `typealias User = Account`.
public protocol AuthEventsDelegate<User>: AnyObject, Sendable {
    /// The type that describes a user.
    associatedtype User: Sendable

    /// A user has logged in.
    func userIsLoggedIn(user: User)

    /// A user has logged out.
    func userIsLoggedOut()

    /// The login status has changed.
    func userAuthStatusChanged()

    /// This user has logged out; `nil` if the user is unknown. Calls ``userIsLoggedOut()`` by default: implement this
    /// one if there is more than one user.
    func userIsLoggedOut(user: User?)

    /// The login status of this user has changed; unknown values are `nil`. Calls ``userAuthStatusChanged()`` by
    /// default.
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?)
}

extension AuthEventsDelegate {
    public func userIsLoggedIn(user: User) {}
    public func userIsLoggedOut() {}
    public func userAuthStatusChanged() {}
    public func userIsLoggedOut(user: User?) { userIsLoggedOut() }
    public func userAuthStatusChanged(user: User?, isLoggedIn: Bool?) { userAuthStatusChanged() }
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

/// A closure as a delegate.
final class AuthHandler<User: Sendable>: AuthEventsDelegate {
    private let handle: @Sendable (AuthEvent<User>) -> Void

    init(_ handle: @escaping @Sendable (AuthEvent<User>) -> Void) { self.handle = handle }

    func userIsLoggedIn(user: User) { handle(.loggedIn(user)) }
    func userIsLoggedOut(user: User?) { handle(.loggedOut(user)) }
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?) {
        handle(.statusChanged(user, isLoggedIn: isLoggedIn))
    }
}
