/// A multicast delegate whose members are each bound to an actor or a queue, and are told there.
///
/// ```swift
/// let delegates = BoundMulticastDelegate<any DownloadDelegate>()
/// delegates.addDelegate(progressView, on: .main)
/// delegates.addDelegate(log, on: DelegateQueue { logQueue.async(execute: $0) })
/// delegates.invokeDelegates { $0.download("map", didReach: 0.5) }   // returns at once
/// ```
///
/// Each delegate is told in the order of the calls, one at a time. Between delegates there is no order. Whoever leaves or is
/// released before its turn is not told. For all else it is like ``MulticastDelegate``.
///
/// A delegate that is bound to an actor gets at the actor's state with `assumeIsolated`. Where the protocol itself is
/// isolated or asynchronous there is nothing to bind: see <doc:WhichThreadAmICalledOn>.
public final class BoundMulticastDelegate<Delegate: Sendable>: Sendable {
    private let membership = Membership()

    /// Creates an empty collection.
    public init() {}

    /// Adds a delegate behind the others.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - queue: where it is told. Delegates that share one are told one after another.
    ///   - holding: whether the collection keeps it alive.
    /// - Returns: whether it was added; `false` when it is a member already, which it then stays as it was.
    @discardableResult
    public func addDelegate(_ delegate: Delegate, on queue: DelegateQueue, holding: DelegateHolding = .weak) -> Bool {
        withExtendedLifetime(delegate) {
            membership.add(Member(delegate, identity(of: delegate), holding: holding, queue: queue))
        }
    }

    /// Removes a delegate. What waits for it is not told any more.
    /// - Returns: whether it was a member.
    @discardableResult
    public func removeDelegate(_ delegate: Delegate) -> Bool { membership.remove(identity(of: delegate)) }

    /// Removes all delegates.
    public func removeAllDelegates() { membership.removeAll() }

    /// Whether the delegate is a member.
    public func contains(_ delegate: Delegate) -> Bool { membership.contains(identity(of: delegate)) }

    /// How many members there are, released ones not counted.
    public var count: Int { membership.count }

    /// Has the closure called with each member, where the member is bound to. Returns at once.
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
