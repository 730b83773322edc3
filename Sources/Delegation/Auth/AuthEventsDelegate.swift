/// Receives logins and logouts.
///
/// ```swift
/// final class Greeter: AuthEventsDelegate {
///     func userIsLoggedIn(user: Account) { print("Hello, \(user.name)") }
///     func userIsLoggedOut(user: Account?) { print("Good-bye") }
///     func userAuthStatusChanged(user: Account?, isLoggedIn: Bool?) {}
/// }
/// ```
/// No method has a default implementation: a method with a slightly different type, such as `user: Account?` instead of
/// `Account`, does not compile, where otherwise it would never be called. For a single event a closure is shorter, see
/// ``AuthEvents/observe(isolation:_:)``.
///
/// The protocol needs no actor, and takes classes of any: a class of the main actor conforms to it with
/// `@MainActor AuthEventsDelegate`, and is called there when it was added there.
public protocol AuthEventsDelegate<User>: AnyObject {
    /// The type that describes a user.
    associatedtype User: Sendable

    /// A user has logged in.
    func userIsLoggedIn(user: User)

    /// A user has logged out; `nil` if the user is unknown.
    func userIsLoggedOut(user: User?)

    /// The login status of a user has changed; unknown values are `nil`.
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?)
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
@usableFromInline
final class AuthHandler<User: Sendable>: AuthEventsDelegate {
    @usableFromInline let handle: (AuthEvent<User>) -> Void

    @inlinable
    init(_ handle: @escaping (AuthEvent<User>) -> Void) { self.handle = handle }

    @inlinable
    func userIsLoggedIn(user: User) { handle(.loggedIn(user)) }
    @inlinable
    func userIsLoggedOut(user: User?) { handle(.loggedOut(user)) }
    @inlinable
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?) {
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
    func userIsLoggedIn(user: User) { handle(.loggedIn(user)) }
    @inlinable
    func userIsLoggedOut(user: User?) { handle(.loggedOut(user)) }
    @inlinable
    func userAuthStatusChanged(user: User?, isLoggedIn: Bool?) {
        handle(.statusChanged(user, isLoggedIn: isLoggedIn))
    }
}
