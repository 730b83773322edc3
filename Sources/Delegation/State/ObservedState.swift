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
/// - Every assignment notifies the delegates, like `didSet`, even of an equal value; the initial value does not.
/// - Delegates are called on the thread that assigns, in the order of their registration, before the assignment
///   returns.
/// - All delegates are notified of all changes in the order of the changes. An assignment during a notification takes
///   effect at once, and its notification follows after all delegates were notified of the previous one. The same
///   applies to an assignment by another thread: it returns at once, and the notifying thread continues with it.
/// - A delegate that is added later can read ``value``.
@propertyWrapper
public final class ObservedState<State: Sendable>: StateBoard<State>, @unchecked Sendable {
    /// Creates a state with its initial value, without notification.
    public override init(_ initial: State) { super.init(initial) }

    /// Creates a state as a property wrapper.
    public convenience init(wrappedValue: State) { self.init(wrappedValue) }

    /// The current state. Assigning notifies the delegates.
    public var value: State {
        get { current }
        set { set(newValue) }
    }

    /// The current state, as the wrapped property.
    public var wrappedValue: State {
        get { value }
        set { value = newValue }
    }

    /// The object, for adding delegates.
    public var projectedValue: ObservedState { self }
}
