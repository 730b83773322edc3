/// A value and its delegates: the common part of ``ObservedState`` and ``StateMachine``.
///
/// Every delegate is notified of every change, in the order of the changes. One thread at a time notifies: a change
/// that is made meanwhile, by a delegate or another thread, takes effect at once and is announced after the previous
/// ones.
///
/// `@unchecked`, since the compiler can't know what a class that has subclasses is. What is here is constant and guards itself,
/// and so is what the two subclasses add; others there can't be, outside of this module.
public class StateBoard<State: Sendable>: @unchecked Sendable {
    private struct Contents {
        var value: State
        /// The number of changes.
        var version = 0
        var untold: [(old: State, new: State)] = []
        var isTelling = false
    }

    private let contents: Lock<Contents>
    private let delegates = MulticastDelegate<any StateDelegate<State>>()

    init(_ value: State) { contents = Lock(Contents(value: value)) }

    final var current: State { contents.withLock { $0.value } }

    final var versioned: (value: State, version: Int) { contents.withLock { ($0.value, $0.version) } }

    /// Changes the value and notifies, unless it has changed since that version.
    /// - Returns: whether it was changed.
    @discardableResult
    final func set(_ value: State, ifVersion version: Int? = nil) -> Bool {
        let (isSet, mustTell) = contents.withLock { contents in
            if let version, version != contents.version { return (false, false) }
            contents.untold.append((contents.value, value))
            contents.value = value
            contents.version += 1
            defer { contents.isTelling = true }
            return (true, !contents.isTelling)
        }
        if mustTell { tell() }
        return isSet
    }

    private func tell() {
        while true {
            let changes = contents.withLock { contents in
                defer { contents.untold = [] }
                contents.isTelling = !contents.untold.isEmpty
                return contents.untold
            }
            if changes.isEmpty { return }
            for (old, new) in changes { delegates.invokeDelegates { $0.stateDidChange(from: old, to: new) } }
        }
    }

    /// Adds a delegate after the others; see ``MulticastDelegate``.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public final func addDelegate(_ delegate: any StateDelegate<State>, holding: DelegateHolding = .weak) -> Bool {
        delegates.addDelegate(delegate, holding: holding)
    }

    /// Removes a delegate.
    /// - Returns: whether it was a member.
    @discardableResult
    public final func removeDelegate(_ delegate: any StateDelegate<State>) -> Bool {
        delegates.removeDelegate(delegate)
    }

    /// Calls the closure with the old and the new state at each change, until the token is released.
    public final func addHandler(
        _ handle: @escaping @Sendable (_ old: State, _ new: State) -> Void
    ) -> DelegateToken {
        delegates.token(for: StateHandler(handle))
    }
}

extension StateBoard where State: Equatable {
    /// Whether the current state equals this one.
    public static func == (board: StateBoard, value: State) -> Bool { board.current == value }

    /// Whether the current state differs from this one.
    public static func != (board: StateBoard, value: State) -> Bool { board.current != value }
}
