/// Is called when an ``ObservedState`` or a ``StateMachine`` changes.
public protocol StateDelegate<State>: AnyObject, Sendable {
    /// The type of the states.
    associatedtype State: Sendable

    /// The state changed from `old` to `new`; it may have changed again since then.
    func stateDidChange(from old: State, to new: State)
}

/// A closure as a delegate.
final class StateHandler<State: Sendable>: StateDelegate {
    private let handle: @Sendable (State, State) -> Void

    init(_ handle: @escaping @Sendable (State, State) -> Void) { self.handle = handle }

    func stateDidChange(from old: State, to new: State) { handle(old, new) }
}
