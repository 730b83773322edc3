/// A closure as a delegate, for a single method without a protocol.
///
/// ```swift
/// let scores = MulticastDelegate<Handler<Int>>()
/// let token = scores.addHandler { score in print(score) }
/// scores.invokeHandlers(3)
/// ```
public final class Handler<Event>: Sendable {
    @usableFromInline let handle: @Sendable (Event) -> Void

    /// Creates a handler that calls the closure.
    public init(_ handle: @escaping @Sendable (Event) -> Void) { self.handle = handle }

    /// Calls the closure.
    @inlinable
    public func callAsFunction(_ event: Event) { handle(event) }
}

extension MulticastDelegate {
    /// Calls the closure for each event from now on, on the calling thread, until the token is released.
    public func addHandler<Event>(_ handle: @escaping @Sendable (Event) -> Void) -> DelegateToken
    where Delegate == Handler<Event> { membership.token(for: Handler(handle)) }

    /// Calls the closure for each event from now on, on the main actor and in the order of the events, until the token is
    /// released: before `invokeHandlers` returns when that is called on the main thread, later otherwise. If 10,000 events
    /// wait, another one replaces the first of them.
    public func addHandler<Event: Sendable>(
        on actor: MainActor, _ handle: @escaping @MainActor @Sendable (Event) -> Void
    ) -> DelegateToken where Delegate == Handler<Event> {
        addHandler(on: actor, calling: Handler { event in MainActor.assumeIsolated { handle(event) } })
    }

    /// Calls the closure for each event from now on, on the actor and in the order of the events, until the token is
    /// released. The actor is not kept alive. If 10,000 events wait, another one replaces the first of them.
    public func addHandler<Event: Sendable, Isolation: Actor>(
        on actor: Isolation, _ handle: @escaping @Sendable (isolated Isolation, Event) -> Void
    ) -> DelegateToken where Delegate == Handler<Event> {
        addHandler(
            on: actor,
            calling: Handler { [weak actor] event in actor?.assumeIsolated { handle($0, event) } })
    }

    private func addHandler<Event: Sendable>(on actor: any Actor, calling handler: Handler<Event>) -> DelegateToken
    where Delegate == Handler<Event> {
        let isolated = SharedMulticastDelegate<Handler<Event>>()
        let token = isolated.membership.token(for: handler, on: actor)
        return addHandler { event in withExtendedLifetime(token) { isolated.invokeDelegates { $0.handle(event) } } }
    }

    /// Calls every handler, in the order of registration.
    @inlinable
    public func invokeHandlers<Event>(_ event: Event) where Delegate == Handler<Event> {
        invokeDelegates { $0.handle(event) }
    }

    /// The events from now on, as a sequence. It ends when the collection is released.
    ///
    /// - Parameter buffering: what becomes of events that the loop has not taken yet: the latest 10,000 wait.
    public func events<Event: Sendable>(
        buffering: AsyncStream<Event>.Continuation.BufferingPolicy = .bufferingNewest(Membership.defaultLimit)
    ) -> AsyncStream<Event> where Delegate == Handler<Event> {
        membership.stream(buffering) { feed in Handler { feed.yield($0) } }
    }
}

extension MainActor {
    /// The main actor, in `addHandler(on: .main)` and `observe(on: .main)`.
    public static var main: MainActor { shared }
}
