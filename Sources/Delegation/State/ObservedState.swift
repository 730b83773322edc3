/// A state that tells its delegates when it is assigned.
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
/// - Every assignment is told, as `didSet` would be, also of an equal value; the first value is not.
/// - Delegates are told on the thread that assigns, in the order of their registration, before the assignment returns.
/// - All delegates are told of all changes in the order in which they happened. An assignment from inside a notification takes
///   effect at once, and is told when all have been told of the one before. So is one that another thread makes
///   meanwhile: it returns, and the thread that is telling goes on with it.
/// - Whoever comes late asks for ``value``.
@propertyWrapper
public final class ObservedState<State: Sendable>: Sendable {
    private let board: StateBoard<State>

    /// Creates a state with its first value, of which nobody is told.
    public init(_ initial: State) { board = StateBoard(initial) }

    /// Creates a state as a property wrapper.
    public convenience init(wrappedValue: State) { self.init(wrappedValue) }

    /// The current state. Assigning tells the delegates.
    public var value: State {
        get { board.value }
        set { board.set(newValue) }
    }

    /// The current state, as the property that this wraps.
    public var wrappedValue: State {
        get { value }
        set { value = newValue }
    }

    /// The object, to add delegates to.
    public var projectedValue: ObservedState { self }

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

extension ObservedState where State: Equatable {
    /// Whether the current state is this one.
    public static func == (state: ObservedState, value: State) -> Bool { state.value == value }

    /// Whether the current state is another one.
    public static func != (state: ObservedState, value: State) -> Bool { state.value != value }
}
