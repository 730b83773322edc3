/// A value and its delegates: the common part of ``ObservedState`` and ``StateMachine``.
///
/// A change takes effect at once. Delegates are called like those of a ``SharedMulticastDelegate``: each one where it was
/// added, for every change, in the order of the changes.
///
/// `@unchecked Sendable` is correct because the lock of the members guards the value and its version, and the rest is
/// constant or isolated, also in the two subclasses. There are no others outside of this module.
public class StateBoard<State: Sendable>: DelegateSender, @unchecked Sendable {
    @usableFromInline final let membership = Membership()
    @usableFromInline final var state: State
    /// The number of changes.
    @usableFromInline final var version = 0
    /// For ``tracked``.
    @MainActor final var copy: TrackedState<State>?

    @usableFromInline
    init(_ state: State) { self.state = state }

    @usableFromInline typealias Delegate = any StateDelegate<State>

    @inlinable final var versioned: (value: State, version: Int) {
        membership.acquire()
        defer { membership.release() }
        return (state, version)
    }

    /// Changes the value and calls the delegates, unless it has changed since that version.
    /// - Returns: whether it was changed.
    @inlinable @discardableResult
    final func set(_ new: State, ifVersion expected: Int? = nil) -> Bool {
        membership.acquire()
        if let expected, expected != version {
            membership.release()
            return false
        }
        let old = state
        state = new
        version &+= 1
        guard let round = membership.begin() else {
            let ready =
                membership.hasMembers
                ? membership.enqueue(StateMessage(from: old, to: new, sender: self)) : nil
            membership.release()
            if let ready { membership.process(ready) }
            return true
        }
        membership.release()
        let released = round.members.forEachDelegate(Delegate.self) {
            $0.stateDidChange(from: old, to: new, sender: self)
        }
        membership.finish(round, released: released)
        return true
    }

    // MARK: Delegates

    /// Adds a delegate after the others, on the actor of the calling code. See ``SharedMulticastDelegate``.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether it is kept alive.
    ///   - initial: whether it is called with the current state first, as the old and the new one. No change is missed or
    ///     reported twice.
    ///   - delivery: the changes that it receives while it is busy.
    ///   - isolation: where it is called: the actor of the calling code.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public final func addDelegate<Observer: StateDelegate>(
        _ delegate: Observer, holding: DelegateHolding = .weak, initial: Bool = false,
        delivery: StateDelivery = .every, isolation: isolated any Actor = #isolation
    ) -> Bool where Observer.State == State {
        membership.add(delegate as Delegate, holding, on: isolation, delivery, first: initial ? { self.first } : nil)
    }

    /// Adds a delegate after the others, on the actor of the calling code, or on the thread of each change if that code
    /// has no actor. See ``SharedMulticastDelegate``.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether it is kept alive.
    ///   - initial: whether it is called with the current state first, as the old and the new one. No change is missed or
    ///     reported twice.
    ///   - delivery: the changes that it receives while it is busy.
    ///   - isolation: where it is called: the actor of the calling code, or `nil` for the thread of each change.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public final func addDelegate<Observer: StateDelegate & Sendable>(
        _ delegate: Observer, holding: DelegateHolding = .weak, initial: Bool = false,
        delivery: StateDelivery = .every, isolation: isolated (any Actor)? = #isolation
    ) -> Bool where Observer.State == State {
        membership.add(delegate as Delegate, holding, on: isolation, delivery, first: initial ? { self.first } : nil)
    }

    /// Adds an actor after the others, which is called on itself. It is not kept alive.
    ///
    /// - Parameters:
    ///   - delegate: the actor.
    ///   - initial: whether it is called with the current state first, as the old and the new one. No change is missed or
    ///     reported twice.
    ///   - delivery: the changes that it receives while it is busy.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public final func addDelegate<Observer: StateActor>(
        _ delegate: Observer, initial: Bool = false, delivery: StateDelivery = .every
    ) -> Bool where Observer.State == State {
        let proxy = StateActorProxy(delegate)
        return membership.add(
            ActorMember(proxy as Delegate, for: delegate), .address(of: delegate), on: delegate, delivery,
            first: initial ? { self.first } : nil)
    }

    /// Removes a delegate. Its pending calls are dropped.
    /// - Returns: whether it was a member.
    @discardableResult
    public final func removeDelegate<Observer: AnyObject>(_ delegate: Observer) -> Bool {
        membership.remove(.address(of: delegate))
    }

    /// Removes all delegates. Closures and sequences end too.
    public final func removeAllDelegates() { membership.removeAll() }

    /// Whether the delegate is a member.
    public final func contains<Observer: AnyObject>(_ delegate: Observer) -> Bool {
        membership.contains(.address(of: delegate))
    }

    /// The number of members, without released ones; closures and sequences included. Takes time linear in the number of
    /// members.
    public final var count: Int { membership.count }

    // MARK: Closures

    /// Calls the closure with the old and the new state at each change, on the thread of each change, until the token is
    /// released. `on:` names an actor instead.
    ///
    /// - Parameters:
    ///   - initial: whether the closure is called with the current state first, as the old and the new one. No change is
    ///     missed or reported twice.
    ///   - delivery: the changes that it receives while it is busy.
    ///   - handle: is called with the old and the new state.
    @inlinable
    public final func observe(
        initial: Bool = false, delivery: StateDelivery = .every,
        _ handle: @escaping @Sendable (_ old: State, _ new: State) -> Void
    ) -> DelegateToken { token(for: StateHandler(handle), on: nil, initial, delivery) }

    /// Calls the closure with the old and the new state at each change, on the main actor, until the token is released:
    /// before the change returns when that is made on the main thread, later otherwise.
    ///
    /// ```swift
    /// token = state.observe(on: .main, initial: true) { [weak self] _, new in self?.title = new.title }
    /// ```
    /// - Parameters:
    ///   - actor: `.main`.
    ///   - initial: whether the closure is called with the current state first, as the old and the new one. No change is
    ///     missed or reported twice.
    ///   - delivery: the changes that it receives while it is busy.
    ///   - handle: is called with the old and the new state.
    @inlinable
    public final func observe(
        on actor: MainActor, initial: Bool = false, delivery: StateDelivery = .every,
        _ handle: @escaping @MainActor @Sendable (_ old: State, _ new: State) -> Void
    ) -> DelegateToken { token(for: MainStateHandler(handle), on: actor, initial, delivery) }

    /// Calls the closure with the old and the new state at each change, on the actor, until the token is released. The
    /// actor is not kept alive.
    ///
    /// ```swift
    /// token = state.observe(on: self) { me, _, new in me.last = new }
    /// ```
    /// - Parameters:
    ///   - actor: where it is called.
    ///   - initial: whether the closure is called with the current state first, as the old and the new one. No change is
    ///     missed or reported twice.
    ///   - delivery: the changes that it receives while it is busy.
    ///   - handle: is called with the actor, and with the old and the new state.
    @inlinable
    public final func observe<Isolation: Actor>(
        on actor: Isolation, initial: Bool = false, delivery: StateDelivery = .every,
        _ handle: @escaping @Sendable (_ actor: isolated Isolation, _ old: State, _ new: State) -> Void
    ) -> DelegateToken {
        let handler = StateHandler { [weak actor] old, new in actor?.assumeIsolated { handle($0, old, new) } }
        return token(for: handler, on: actor, initial, delivery)
    }

    @inlinable
    final func token(
        for delegate: Delegate, on actor: (any Actor)?, _ initial: Bool, _ delivery: StateDelivery
    ) -> DelegateToken {
        // `as`, or it would be a member of its own class.
        membership.token(for: delegate as Delegate, on: actor, delivery, first: initial ? { self.first } : nil)
    }

    /// The current state, as a change for a new member. Called with the lock.
    @inlinable final var first: Message { StateMessage(from: state, to: state, sender: self) }

    // MARK: Sequences

    /// The current state and those that follow, as a sequence. A loop that is slow gets the latest state only.
    public final var values: AsyncStream<State> { values(buffering: .bufferingNewest(1)) }

    /// The current state and those that follow, as a sequence. It ends when this object is released.
    ///
    /// - Parameter buffering: what becomes of states that the loop has not taken yet.
    public final func values(
        buffering: AsyncStream<State>.Continuation.BufferingPolicy
    ) -> AsyncStream<State> {
        membership.stream(
            buffering, delegate: { feed in StateHandler { feed.yield($1) } as Delegate }, first: { self.first })
    }
}

extension StateBoard where State: Equatable {
    /// Whether the current state equals this one.
    public static func == (board: StateBoard, value: State) -> Bool { board.versioned.value == value }

    /// Whether the current state differs from this one.
    public static func != (board: StateBoard, value: State) -> Bool { board.versioned.value != value }
}
