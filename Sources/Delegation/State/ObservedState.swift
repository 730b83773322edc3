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
public final class ObservedState<State: Sendable>: StateBoard<State>, @unchecked Sendable {
    /// Creates a state with its first value, of which nobody is told.
    public override init(_ initial: State) { super.init(initial) }

    /// Creates a state as a property wrapper.
    public convenience init(wrappedValue: State) { self.init(wrappedValue) }

    /// The current state. Assigning tells the delegates.
    public var value: State {
        get { current }
        set { set(newValue) }
    }

    /// The current state, as the property that this wraps.
    public var wrappedValue: State {
        get { value }
        set { value = newValue }
    }

    /// The object, to add delegates to.
    public var projectedValue: ObservedState { self }
}
