/// A value and who is told of its changes: what ``ObservedState`` and ``StateMachine`` share.
///
/// Every delegate is told of every change, in the order in which they happened. One thread at a time tells: a change that is
/// made meanwhile, by a delegate or another thread, takes effect at once and is told after those before it.
final class StateBoard<State: Sendable>: Sendable {
    private struct Contents {
        var value: State
        /// Counts the changes.
        var version = 0
        var untold: [(old: State, new: State)] = []
        var isTelling = false
    }

    private let contents: Lock<Contents>
    let delegates = MulticastDelegate<any StateDelegate<State>>()

    init(_ value: State) { contents = Lock(Contents(value: value)) }

    var value: State { contents.withLock { $0.value } }

    var versioned: (value: State, version: Int) { contents.withLock { ($0.value, $0.version) } }

    /// Changes the value and tells, unless it has changed since that version.
    /// - Returns: whether it was changed.
    @discardableResult
    func set(_ value: State, ifVersion version: Int? = nil) -> Bool {
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

    func addHandler(_ handle: @escaping @Sendable (State, State) -> Void) -> DelegateToken {
        delegates.token(for: StateHandler(handle))
    }
}
