/// Calls many delegates, each one where it was added: on its actor, or on the thread of the caller.
///
/// ```swift
/// protocol DownloadDelegate: AnyObject {
///     func download(_ name: String, didReach progress: Double)
/// }
///
/// let delegates = SharedMulticastDelegate<any DownloadDelegate>()
/// delegates.addDelegate(progressController)                         // on the main actor
/// delegates.invokeDelegates { $0.download("map", didReach: 0.5) }   // on any thread
/// ```
///
/// - **Place**: a delegate is called on the actor of the code that adds it. If the protocol inherits from `Sendable`, it is
///   called on the thread of the caller instead, and any code can add it.
/// - **Time**: a delegate of the main actor is called before ``invokeDelegates(_:)`` returns if that is called on the main
///   thread; so are those without an actor, on every thread. Others are called soon, in a job on their actor.
/// - **Order**: the delegates of one actor, and those without one, are called one after another, in the order of
///   registration, for one call of ``invokeDelegates(_:)`` after another. A call that is made during another one, by a
///   delegate or a thread, follows after it: if another thread is calling, the call returns at once, and that thread
///   continues with it, or a task does, so that no thread is kept for the calls of others.
/// - **Room**: at most 10,000 calls wait for an actor that is busy, or another number that the collection is created with.
///   Another one replaces the one that has waited longest, which ``droppedCount`` counts. So memory is bounded, and a slow
///   delegate receives the latest calls. The number applies to the delegates of each actor, and to those without one while
///   a thread calls them.
/// - **Removal**: no call begins after ``removeDelegate(_:)`` has returned on the delegate's actor. A call that another
///   thread or actor is about to make may still begin.
///
/// In all other respects it is like ``MulticastDelegate``. ``ObservedState`` and ``AuthEvents`` call their delegates in
/// the same way.
public final class SharedMulticastDelegate<Delegate>: Sendable {
    @usableFromInline let membership: Membership

    /// Creates an empty collection.
    /// - Parameter pendingLimit: the number of calls that may wait for each actor, at least 1.
    public init(pendingLimit: Int = Membership.defaultLimit) { membership = Membership(limit: pendingLimit) }

    /// Adds a delegate after the others, on the actor of the calling code.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether the collection keeps it alive.
    ///   - isolation: where it is called: the actor of the calling code.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public func addDelegate(
        _ delegate: Delegate, holding: DelegateHolding = .weak, isolation: isolated any Actor = #isolation
    ) -> Bool { membership.add(delegate, holding, on: isolation) }

    /// Removes a delegate. Its pending calls are dropped.
    /// - Returns: whether it was a member.
    @discardableResult
    public func removeDelegate(_ delegate: Delegate) -> Bool { membership.remove(.address(of: delegate)) }

    /// Removes all delegates.
    public func removeAllDelegates() { membership.removeAll() }

    /// Whether the delegate is a member.
    public func contains(_ delegate: Delegate) -> Bool { membership.contains(.address(of: delegate)) }

    /// The number of members, without released ones. Takes time linear in the number of members.
    public var count: Int { membership.count }

    /// The number of calls that were dropped because too many waited, one for each actor that did not receive it.
    public var droppedCount: Int { membership.droppedCount }

    /// Calls the closure with each member, where the member was added.
    @inlinable
    public func invokeDelegates(_ body: @escaping @Sendable (Delegate) -> Void) {
        membership.acquire()
        guard let round = membership.begin() else {
            let ready = membership.enqueue(ClosureMessage(body))
            membership.release()
            return membership.process(ready)
        }
        membership.release()
        membership.finish(round, released: round.members.forEachDelegate(Delegate.self, body))
    }

    /// Calls the closure with each member that was added on the main actor: for a protocol of the main actor.
    ///
    /// ```swift
    /// @MainActor protocol DownloadDelegate: AnyObject {
    ///     func download(_ name: String, didReach progress: Double)
    /// }
    ///
    /// delegates.invokeDelegates(on: .main) { $0.download("map", didReach: 0.5) }
    /// ```
    /// - Parameters:
    ///   - actor: `.main`.
    ///   - body: is called like that of ``invokeDelegates(_:)``.
    public func invokeDelegates(on actor: MainActor, _ body: @escaping @MainActor @Sendable (Delegate) -> Void) {
        membership.sendOnMain(body, includesOthers: false)
    }
}

extension SharedMulticastDelegate where Delegate: Sendable {
    /// Adds a delegate after the others, on the thread of each caller.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether the collection keeps it alive.
    /// - Returns: whether it was added; `false` if it is already a member.
    @discardableResult
    public func addDelegate(_ delegate: Delegate, holding: DelegateHolding = .weak) -> Bool {
        membership.add(delegate, holding, on: nil)
    }

    /// Calls the closure with each member on the main actor, wherever the member was added.
    /// - Parameters:
    ///   - actor: `.main`.
    ///   - body: is called before this method returns if that is called on the main thread, soon otherwise.
    public func invokeDelegates(on actor: MainActor, _ body: @escaping @MainActor @Sendable (Delegate) -> Void) {
        membership.sendOnMain(body, includesOthers: true)
    }
}

extension Membership {
    /// Adds a delegate.
    ///
    /// - Parameters:
    ///   - isolation: where it is called: the actor of the calling code, or `nil`.
    ///   - first: see ``add(_:_:on:_:first:replacesWeak:)``.
    func add<Delegate>(
        _ delegate: Delegate, _ holding: DelegateHolding, on isolation: isolated (any Actor)?,
        _ delivery: StateDelivery = .every, first: (() -> Message?)? = nil
    ) -> Bool {
        withExtendedLifetime(delegate) {
            add(.make(delegate, holding), .address(of: delegate), on: isolation, delivery, first: first)
        }
    }

    fileprivate func sendOnMain<Delegate>(
        _ body: @escaping @MainActor @Sendable (Delegate) -> Void, includesOthers: Bool
    ) {
        let message = ClosureMessage<Delegate> { delegate in
            // The message is sent on the main actor, and with it the delegates may be called there.
            nonisolated(unsafe) let delegate = delegate
            MainActor.assumeIsolated { body(delegate) }
        }
        acquire()
        let ready = enqueueOnMain(message, includesOthers: includesOthers)
        release()
        process(ready)
    }
}

extension Membership.Identity {
    /// Returns the identity of an object; for other values, an address that no member has.
    @inlinable
    static func address<Delegate>(of delegate: Delegate) -> Self {
        let word = MemoryLayout<UInt>.size
        if MemoryLayout<Delegate>.size == word || MemoryLayout<Delegate>.size == 2 * word {
            // An object, or an existential of a class: the reference comes first. The conversion below would retain it.
            return .address(withUnsafeBytes(of: delegate) { $0.load(as: UInt.self) })
        }
        return .address(Member.address(of: delegate as AnyObject))
    }
}
