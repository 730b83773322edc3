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
    where Delegate == Handler<Event> { token(for: Handler(handle)) }

    /// Calls the closure for each event from now on, on that queue and in the order of the events, until the token is
    /// released. Pending events are dropped then.
    public func addHandler<Event: Sendable>(
        on queue: DelegateQueue, _ handle: @escaping @Sendable (Event) -> Void
    ) -> DelegateToken where Delegate == Handler<Event> {
        let registration = Registration()
        return addHandler { [registration] event in
            queue.enqueue { [weak registration] in if registration != nil { handle(event) } }
        }
    }

    /// Calls the closure for each event from now on, on the actor and in the order of the events, until the token is
    /// released. The actor is not kept alive.
    public func addHandler<Event: Sendable, Isolation: Actor>(
        on actor: Isolation, _ handle: @escaping @Sendable (isolated Isolation, Event) -> Void
    ) -> DelegateToken where Delegate == Handler<Event> {
        addHandler(on: .actor(actor)) { [weak actor] event in
            actor?.assumeIsolated { handle($0, event) }
        }
    }

    /// Calls the closure for each event from now on, on the main actor and in the order of the events, until the token is
    /// released.
    public func addHandler<Event: Sendable>(
        on actor: MainActor, _ handle: @escaping @MainActor (Event) -> Void
    ) -> DelegateToken where Delegate == Handler<Event> {
        addHandler(on: .main) { event in MainActor.assumeIsolated { handle(event) } }
    }

    /// Calls every handler, in the order of registration.
    @inlinable
    public func invokeHandlers<Event>(_ event: Event) where Delegate == Handler<Event> {
        invokeDelegates { $0.handle(event) }
    }
}

/// Lives as long as a handler is registered.
private final class Registration: Sendable {}
