/// An observed state with rules: a transition that they don't allow is an error, and changes nothing.
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
/// Delegates are told as those of an ``ObservedState`` are.
public final class StateMachine<State: Sendable>: Sendable {
    private let board: StateBoard<State>
    private let isAllowed: @Sendable (State, State) -> Bool

    /// - Parameters:
    ///   - initial: the first state, of which nobody is told.
    ///   - isAllowed: whether the state may go from the one to the other. It decides by its arguments alone.
    public init(_ initial: State, isAllowed: @escaping @Sendable (_ old: State, _ new: State) -> Bool) {
        board = StateBoard(initial)
        self.isAllowed = isAllowed
    }

    /// The current state.
    public var value: State { board.value }

    /// Changes the state and tells the delegates.
    /// - Throws: ``IllegalTransition`` when the rules don't allow it from the current state.
    public func transition(to new: State) throws(IllegalTransition<State>) {
        while true {
            // The rules are asked outside the lock, and again when another thread was faster.
            let (old, version) = board.versioned
            guard isAllowed(old, new) else { throw IllegalTransition(old: old, new: new) }
            if board.set(new, ifVersion: version) { return }
        }
    }

    /// Adds a delegate behind the others; see ``MulticastDelegate``.
    /// - Returns: whether it was added; `false` when it is a member already.
    @discardableResult
    public func addDelegate(_ delegate: any StateDelegate<State>, holding: DelegateHolding = .weak) -> Bool {
        board.delegates.addDelegate(delegate, holding: holding)
    }

    /// Removes a delegate.
    /// - Returns: whether it was a member.
    @discardableResult
    public func removeDelegate(_ delegate: any StateDelegate<State>) -> Bool {
        board.delegates.removeDelegate(delegate)
    }

    /// Calls the closure with the old and the new state at each change, until the token is released.
    public func addHandler(_ handle: @escaping @Sendable (_ old: State, _ new: State) -> Void) -> DelegateToken {
        board.addHandler(handle)
    }
}

extension StateMachine where State: Equatable {
    /// Whether the current state is this one.
    public static func == (machine: StateMachine, value: State) -> Bool { machine.value == value }

    /// Whether the current state is another one.
    public static func != (machine: StateMachine, value: State) -> Bool { machine.value != value }
}

/// A change of state that the rules of a ``StateMachine`` don't allow.
public struct IllegalTransition<State: Sendable>: Error, CustomStringConvertible {
    /// The state that it was, and still is.
    public let old: State
    /// The state that it can't become from there.
    public let new: State

    public var description: String { "the state can't change from \(old) to \(new)" }
}
