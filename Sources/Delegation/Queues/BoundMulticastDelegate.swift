/// A multicast delegate whose members are each bound to an actor or a queue, and are called there.
///
/// ```swift
/// let delegates = BoundMulticastDelegate<any DownloadDelegate>()
/// delegates.addDelegate(progressView, on: .main)
/// delegates.addDelegate(log, on: DelegateQueue { logQueue.async(execute: $0) })
/// delegates.invokeDelegates { $0.download("map", didReach: 0.5) }   // returns at once
/// ```
///
/// Each delegate is called in the order of the calls, one at a time. Between delegates there is no order. A delegate
/// that is removed or released before its turn is skipped. In all other respects it is like ``MulticastDelegate``.
///
/// A delegate that is bound to an actor can access the actor's state with `assumeIsolated`. If the protocol itself is
/// isolated or asynchronous, binding is not needed: see <doc:WhichThreadAmICalledOn>.
public final class BoundMulticastDelegate<Delegate: Sendable>: Sendable {
    private let membership = Membership()

    /// Creates an empty collection.
    public init() {}

    /// Adds a delegate after the others.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - queue: where it is called. Delegates that share a queue are called one after another.
    ///   - holding: whether the collection keeps it alive.
    /// - Returns: whether it was added; `false` if it is already a member, which stays unchanged.
    @discardableResult
    public func addDelegate(_ delegate: Delegate, on queue: DelegateQueue, holding: DelegateHolding = .weak) -> Bool {
        withExtendedLifetime(delegate) {
            membership.add(Member(delegate, identity(of: delegate), holding: holding, queue: queue))
        }
    }

    /// Removes a delegate. Its pending calls are dropped.
    /// - Returns: whether it was a member.
    @discardableResult
    public func removeDelegate(_ delegate: Delegate) -> Bool { membership.remove(identity(of: delegate)) }

    /// Removes all delegates.
    public func removeAllDelegates() { membership.removeAll() }

    /// Whether the delegate is a member.
    public func contains(_ delegate: Delegate) -> Bool { membership.contains(identity(of: delegate)) }

    /// The number of members, without released ones.
    public var count: Int { membership.count }

    /// Calls the closure with each member, on the member's queue. Returns at once.
    public func invokeDelegates(_ body: @escaping @Sendable (Delegate) -> Void) {
        var released: [Member] = []
        for member in membership.members where !member.isRemoved {
            guard member.isAlive else {
                released.append(member)
                continue
            }
            member.queue?.enqueue {
                if let delegate: Delegate = member.delegate() { body(delegate) }
            }
        }
        if !released.isEmpty { membership.sweep(released) }
    }

    private func identity(of delegate: Delegate) -> Identity {
        .object(ObjectIdentifier(Member.object(of: delegate)))
    }
}
