/// An observed state with rules: an illegal transition is an error and changes nothing.
///
/// ```swift
/// let door = StateMachine(Door.closed) { old, new in
///     switch (old, new) {
///     case (.closed, .open), (.open, .closed), (.closed, .locked), (.locked, .closed): true
///     default: false
///     }
/// }
/// try door.transition(to: .open)
/// ```
/// Delegates are called like those of an ``ObservedState``.
public final class StateMachine<State: Sendable>: StateBoard<State>, @unchecked Sendable {
    private let isAllowed: @Sendable (State, State) -> Bool

    /// - Parameters:
    ///   - initial: the first state, without notification.
    ///   - isAllowed: whether a transition is legal. It must depend only on its arguments.
    public init(_ initial: State, isAllowed: @escaping @Sendable (_ old: State, _ new: State) -> Bool) {
        self.isAllowed = isAllowed
        super.init(initial)
    }

    /// The current state.
    public var value: State { versioned.value }

    /// Changes the state and notifies the delegates.
    /// - Throws: ``IllegalTransition`` if the rules do not allow it from the current state.
    public func transition(to new: State) throws(IllegalTransition<State>) {
        while true {
            // The rules are evaluated without the lock, and again if another thread was faster.
            let (old, version) = versioned
            guard isAllowed(old, new) else { throw IllegalTransition(old: old, new: new) }
            if set(new, ifVersion: version) { return }
        }
    }
}

/// A transition that the rules of a ``StateMachine`` do not allow.
public struct IllegalTransition<State: Sendable>: Error, CustomStringConvertible {
    /// The current state.
    public let old: State
    /// The state that is not allowed after it.
    public let new: State

    public var description: String { "the state can't change from \(old) to \(new)" }
}
