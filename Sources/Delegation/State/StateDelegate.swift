/// Is called when an ``ObservedState`` or a ``StateMachine`` changes.
///
/// The protocol needs no actor, and takes classes of any: a class of the main actor conforms to it with
/// `@MainActor StateDelegate`, and is called there when it was added there.
public protocol StateDelegate<State>: AnyObject {
    /// The type of the states.
    associatedtype State: Sendable

    /// The state changed from `old` to `new`; it may have changed again since then.
    func stateDidChange(from old: State, to new: State)
}

/// Is called when an ``ObservedState`` or a ``StateMachine`` changes, if the delegate is itself an actor.
public protocol StateActor<State>: Actor {
    /// The type of the states.
    associatedtype State: Sendable

    /// The state changed from `old` to `new`; it may have changed again since then.
    func stateDidChange(from old: State, to new: State)
}

/// A closure as a delegate.
@usableFromInline
final class StateHandler<State: Sendable>: StateDelegate {
    @usableFromInline let handle: (State, State) -> Void

    @inlinable
    init(_ handle: @escaping (State, State) -> Void) { self.handle = handle }

    @inlinable
    func stateDidChange(from old: State, to new: State) { handle(old, new) }
}

/// A closure of the main actor as a delegate. The runtime checks that it is called there.
@usableFromInline
@MainActor
final class MainStateHandler<State: Sendable>: @preconcurrency StateDelegate {
    @usableFromInline let handle: @MainActor @Sendable (State, State) -> Void

    @inlinable
    nonisolated init(_ handle: @escaping @MainActor @Sendable (State, State) -> Void) { self.handle = handle }

    @inlinable
    func stateDidChange(from old: State, to new: State) { handle(old, new) }
}
