/// A state that notifies its delegates when it is assigned.
///
/// ```swift
/// enum Retrieval { case running, success, failure }
/// enum AppState: Equatable { case idle, dataRetrieval(Retrieval) }
///
/// let state = ObservedState(AppState.idle)
/// state.addDelegate(statusBar)
/// state.value = .dataRetrieval(.success)
/// if state == .dataRetrieval(.success) { … }
/// ```
/// As a property wrapper it reads like a plain property; `$state` is the object itself:
///
/// ```swift
/// @ObservedState var state = AppState.idle
/// $state.addDelegate(statusBar)
/// state = .dataRetrieval(.running)
/// ```
///
/// - Every assignment calls the delegates, like `didSet`, even of an equal value, unless the state was created with
///   `removingDuplicates`. The initial value does not.
/// - A delegate is called where it was added: on the actor of the code that adds it, or on the thread that assigns. On the
///   main thread, and without an actor, that is before the assignment returns. See ``SharedMulticastDelegate``.
/// - An actor that is busy receives its changes later: all of them, up to 10,000, or the latest one. See
///   ``StateDelivery``.
/// - All delegates are called for all changes in the order of the changes. An assignment during a notification takes
///   effect at once, and its notification follows after the previous one. The same applies to an assignment by another
///   thread: it returns at once, and the notifying thread continues with it.
@propertyWrapper
public final class ObservedState<State: Sendable>: StateBoard<State>, @unchecked Sendable {
    /// Whether two states are equal, if such an assignment is left out.
    @usableFromInline let isSame: (@Sendable (State, State) -> Bool)?

    @inlinable
    init(_ initial: State, isSame: (@Sendable (State, State) -> Bool)?) {
        self.isSame = isSame
        super.init(initial)
    }

    /// Creates a state with its initial value, without notification.
    @inlinable
    public override convenience init(_ initial: State) { self.init(initial, isSame: nil) }

    /// Creates a state as a property wrapper.
    @inlinable
    public convenience init(wrappedValue: State) { self.init(wrappedValue, isSame: nil) }

    /// The current state. Assigning calls the delegates.
    @inlinable
    public var value: State {
        get { versioned.value }
        set {
            if let isSame { return replace(newValue, unless: isSame) }
            set(newValue)
        }
    }

    /// Changes the state depending on the current one, atomically: no change by another thread comes between.
    ///
    /// ```swift
    /// counter.update { $0 += 1 }
    /// ```
    /// - Parameter change: is called without a lock, and again if another thread was faster. If it throws, nothing changes.
    /// - Returns: what the closure returns.
    @inlinable @discardableResult
    public func update<Result, Failure: Error>(
        _ change: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        while true {
            let (old, version) = versioned
            var new = old
            let result = try change(&new)
            if let isSame, isSame(old, new) { return result }
            if set(new, ifVersion: version) { return result }
        }
    }

    @usableFromInline
    func replace(_ new: State, unless isSame: (State, State) -> Bool) {
        while true {
            // Compared without the lock, since that is foreign code.
            let (old, version) = versioned
            if isSame(old, new) || set(new, ifVersion: version) { return }
        }
    }

    /// The current state, as the wrapped property.
    @inlinable
    public var wrappedValue: State {
        get { value }
        set { value = newValue }
    }

    /// The object, for adding delegates.
    public var projectedValue: ObservedState { self }
}

extension ObservedState where State: Equatable {
    /// Creates a state with its initial value, without notification.
    /// - Parameters:
    ///   - initial: the first state.
    ///   - removingDuplicates: whether assigning an equal value calls no delegate.
    @inlinable
    public convenience init(_ initial: State, removingDuplicates: Bool) {
        let isSame: @Sendable (State, State) -> Bool = { $0 == $1 }
        self.init(initial, isSame: removingDuplicates ? isSame : nil)
    }

    /// Creates a state as a property wrapper: `@ObservedState(removingDuplicates: true) var state = AppState.idle`.
    /// - Parameters:
    ///   - wrappedValue: the first state.
    ///   - removingDuplicates: whether assigning an equal value calls no delegate.
    @inlinable
    public convenience init(wrappedValue: State, removingDuplicates: Bool) {
        self.init(wrappedValue, removingDuplicates: removingDuplicates)
    }
}
