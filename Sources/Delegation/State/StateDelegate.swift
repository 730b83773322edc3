/// The object that notifies a delegate: an ``ObservedState``, a ``StateMachine``, an ``AuthEvents``, or a hub of Herald.
/// A delegate of several compares it: `if sender === theme { … }`.
public protocol DelegateSender: AnyObject, Sendable {}

/// Is called when an ``ObservedState`` or a ``StateMachine`` changes.
///
/// The protocol needs no actor, and takes classes of any: a class of the main actor conforms to it with
/// `@MainActor StateDelegate`, and is called there when it was added there.
public protocol StateDelegate<State>: AnyObject {
    /// The type of the states.
    associatedtype State: Sendable

    /// The state of the sender changed from `old` to `new`; it may have changed again since then.
    func stateDidChange(from old: State, to new: State, sender: any DelegateSender)
}

/// Is called when an ``ObservedState`` or a ``StateMachine`` changes, if the delegate is itself an actor.
public protocol StateActor<State>: Actor {
    /// The type of the states.
    associatedtype State: Sendable

    /// The state of the sender changed from `old` to `new`; it may have changed again since then.
    func stateDidChange(from old: State, to new: State, sender: any DelegateSender)
}

/// The changes of a state that a delegate receives while its actor, or the thread that calls it, is busy.
public enum StateDelivery: Hashable, Sendable {
    /// Every change. If 10,000 of them wait, the last one is merged with the next one.
    case every
    /// The latest state, in one call for all changes since the last call: for user interfaces, and for large states, since
    /// only one change waits.
    case latest
}

/// A change of a state. Merging two of them makes one from the old state of the first one to the new state of the second.
@usableFromInline
final class StateMessage<State: Sendable>: Message, @unchecked Sendable {
    @usableFromInline let old: State
    @usableFromInline let new: State
    @usableFromInline let sender: any DelegateSender

    @inlinable
    convenience init(from old: State, to new: State, sender: any DelegateSender) {
        self.init(from: old, to: new, sender: sender) { message, members in
            let change = unsafeDowncast(message, to: StateMessage<State>.self)
            return members.forEachDelegate((any StateDelegate<State>).self) {
                $0.stateDidChange(from: change.old, to: change.new, sender: change.sender)
            }
        }
    }

    @usableFromInline
    init(from old: State, to new: State, sender: any DelegateSender, call: @escaping Call) {
        (self.old, self.new, self.sender) = (old, new, sender)
        super.init(call)
    }

    override func merged(with next: Message) -> Message? {
        (next as? StateMessage).map { StateMessage(from: old, to: $0.new, sender: sender) }
    }
}

/// A closure as a delegate.
@usableFromInline
final class StateHandler<State: Sendable>: StateDelegate {
    @usableFromInline let handle: (State, State) -> Void

    @inlinable
    init(_ handle: @escaping (State, State) -> Void) { self.handle = handle }

    @inlinable
    func stateDidChange(from old: State, to new: State, sender: any DelegateSender) { handle(old, new) }
}

/// A closure of the main actor as a delegate. The runtime checks that it is called there.
@usableFromInline
@MainActor
final class MainStateHandler<State: Sendable>: @preconcurrency StateDelegate {
    @usableFromInline let handle: @MainActor @Sendable (State, State) -> Void

    @inlinable
    nonisolated init(_ handle: @escaping @MainActor @Sendable (State, State) -> Void) { self.handle = handle }

    @inlinable
    func stateDidChange(from old: State, to new: State, sender: any DelegateSender) { handle(old, new) }
}

/// An actor as a delegate, which is called on the actor.
final class StateActorProxy<Observer: StateActor>: StateDelegate {
    typealias State = Observer.State
    private weak let actor: Observer?

    init(_ actor: Observer) { self.actor = actor }

    func stateDidChange(from old: State, to new: State, sender: any DelegateSender) {
        actor?.assumeIsolated { $0.stateDidChange(from: old, to: new, sender: sender) }
    }
}
