/// Is told when an ``ObservedState`` or a ``StateMachine`` changes.
public protocol StateDelegate<State>: AnyObject, Sendable {
    /// What the states are.
    associatedtype State: Sendable

    /// The state was `old` and became `new`; by now it may be another one again.
    func stateDidChange(from old: State, to new: State)
}

/// A closure that is told.
final class StateHandler<State: Sendable>: StateDelegate {
    private let handle: @Sendable (State, State) -> Void

    init(_ handle: @escaping @Sendable (State, State) -> Void) { self.handle = handle }

    func stateDidChange(from old: State, to new: State) { handle(old, new) }
}
