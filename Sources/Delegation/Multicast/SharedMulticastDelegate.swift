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
/// - **Removal**: no call begins after ``removeDelegate(_:)`` has returned on the delegate's actor. A call that another
///   thread or actor is about to make may still begin.
///
/// In all other respects it is like ``MulticastDelegate``. ``ObservedState`` and ``AuthEvents`` call their delegates in
/// the same way.
public final class SharedMulticastDelegate<Delegate>: Sendable {
    @usableFromInline let membership = Membership()

    /// Creates an empty collection.
    public init() {}

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

    /// Calls the closure with each member, where the member was added.
    @inlinable
    public func invokeDelegates(_ body: @escaping @Sendable (Delegate) -> Void) {
        membership.acquire()
        guard let round = membership.begin() else {
            let lanes = membership.enqueue { $0.forEachDelegate(Delegate.self, body) }
            membership.release()
            return membership.process(lanes)
        }
        membership.release()
        membership.finish(round, released: round.members.forEachDelegate(Delegate.self, body))
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
}

extension Membership {
    /// Adds a delegate on the actor of the calling code.
    func add<Delegate>(_ delegate: Delegate, _ holding: DelegateHolding, on isolation: isolated (any Actor)?) -> Bool {
        MainThread.record(on: isolation)
        return withExtendedLifetime(delegate) {
            add(.make(delegate, holding), .address(of: delegate), on: isolation)
        }
    }
}

extension Membership.Identity {
    /// Of a value that is no object, an address that no member has.
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
