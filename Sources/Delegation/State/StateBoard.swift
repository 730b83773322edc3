/// A value and its delegates: the common part of ``ObservedState`` and ``StateMachine``.
///
/// A change takes effect at once. Delegates are called like those of a ``SharedMulticastDelegate``: each one where it was
/// added, for every change, in the order of the changes.
///
/// `@unchecked Sendable` is correct because the lock of the members guards the value and its version, and the rest is
/// constant or isolated, also in the two subclasses. There are no others outside of this module.
public class StateBoard<State: Sendable>: @unchecked Sendable {
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
            let lanes = membership.hasMembers ? membership.enqueue(Self.message(old, new)) : []
            membership.release()
            membership.process(lanes)
            return true
        }
        membership.release()
        let released = round.members.forEachDelegate(Delegate.self) { $0.stateDidChange(from: old, to: new) }
        membership.finish(round, released: released)
        return true
    }

    /// For all members, or for a new one.
    @inlinable
    static func message(_ old: State, _ new: State) -> Message {
        { members in members.forEachDelegate(Delegate.self) { $0.stateDidChange(from: old, to: new) } }
    }

    // MARK: Delegates

    /// Adds a delegate after the others, on the actor of the calling code. See ``SharedMulticastDelegate``.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether it is kept alive.
    ///   - isolation: where it is called: the actor of the calling code.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public final func addDelegate<Observer: StateDelegate>(
        _ delegate: Observer, holding: DelegateHolding = .weak, isolation: isolated any Actor = #isolation
    ) -> Bool where Observer.State == State { membership.add(delegate as Delegate, holding, on: isolation) }

    /// Adds a delegate after the others, on the actor of the calling code, or on the thread of each change if that code
    /// has no actor. See ``SharedMulticastDelegate``.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether it is kept alive.
    ///   - isolation: where it is called: the actor of the calling code, or `nil` for the thread of each change.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public final func addDelegate<Observer: StateDelegate & Sendable>(
        _ delegate: Observer, holding: DelegateHolding = .weak, isolation: isolated (any Actor)? = #isolation
    ) -> Bool where Observer.State == State { membership.add(delegate as Delegate, holding, on: isolation) }

    /// Adds an actor after the others, which is called on itself. It is not kept alive.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public final func addDelegate<Observer: StateActor>(_ delegate: Observer) -> Bool where Observer.State == State {
        let proxy = StateHandler<State> { [weak delegate] old, new in
            delegate?.assumeIsolated { $0.stateDidChange(from: old, to: new) }
        }
        return membership.add(
            ActorMember(proxy as Delegate, for: delegate), .address(of: delegate), on: delegate)
    }

    /// Removes a delegate. Its pending calls are dropped.
    /// - Returns: whether it was a member.
    @discardableResult
    public final func removeDelegate<Observer: AnyObject>(_ delegate: Observer) -> Bool {
        membership.remove(.address(of: delegate))
    }

    // MARK: Closures

    /// Calls the closure with the old and the new state at each change, until the token is released: on the actor of the
    /// calling code, or on the thread of each change if that code has no actor.
    ///
    /// - Parameters:
    ///   - initial: whether the closure is called with the current state first, as the old and the new one. No change is
    ///     missed or reported twice.
    ///   - isolation: where it is called: the actor of the calling code, or `nil` for the thread of each change.
    ///   - handle: is called with the old and the new state.
    @inlinable
    public final func observe(
        initial: Bool = false, isolation: isolated (any Actor)? = #isolation,
        _ handle: @escaping @Sendable (_ old: State, _ new: State) -> Void
    ) -> DelegateToken {
        MainThread.record(on: isolation)
        return token(for: StateHandler(handle), on: isolation, initial: initial)
    }

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
    ///   - isolation: the actor of the calling code.
    ///   - handle: is called with the old and the new state.
    @inlinable
    public final func observe(
        on actor: MainActor, initial: Bool = false, isolation: isolated (any Actor)? = #isolation,
        _ handle: @escaping @MainActor @Sendable (_ old: State, _ new: State) -> Void
    ) -> DelegateToken {
        MainThread.record(on: isolation)
        return token(for: MainStateHandler(handle), on: actor, initial: initial)
    }

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
    ///   - handle: is called with the actor, and with the old and the new state.
    @inlinable
    public final func observe<Isolation: Actor>(
        on actor: Isolation, initial: Bool = false,
        _ handle: @escaping @Sendable (_ actor: isolated Isolation, _ old: State, _ new: State) -> Void
    ) -> DelegateToken {
        let handler = StateHandler { [weak actor] old, new in actor?.assumeIsolated { handle($0, old, new) } }
        return token(for: handler, on: actor, initial: initial)
    }

    @inlinable
    final func token(for delegate: Delegate, on actor: (any Actor)?, initial: Bool) -> DelegateToken {
        // `as`, or it would be a member of its own class.
        membership.token(for: delegate as Delegate, on: actor, first: initial ? { self.first } : nil)
    }

    /// The current state, as a change for a new member. Called with the lock.
    @inlinable final var first: Message { Self.message(state, state) }

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
