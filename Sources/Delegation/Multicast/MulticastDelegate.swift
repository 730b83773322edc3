/// Calls many delegates like a single one: a collection of members, held weakly, or strongly on request.
///
/// ```swift
/// protocol DownloadDelegate: AnyObject, Sendable {
///     func download(_ name: String, didReach progress: Double)
/// }
///
/// let delegates = MulticastDelegate<any DownloadDelegate>()
/// delegates.addDelegate(progressView)
/// delegates.addDelegate(DownloadLog(), holding: .strong)
/// delegates.invokeDelegates { $0.download("map", didReach: 0.5) }
/// ```
///
/// - **Members** are distinguished by identity, or by a key of their own: a delegate that is added twice is called
///   once. They must be instances of classes. With a protocol that inherits from `AnyObject` the compiler ensures that;
///   otherwise a value stops the program with a message, because it can't be held weakly.
/// - **Order** is the order of registration.
/// - **Lifetime**: a weakly held member needs no removal. After its release it is not called any more, and its entry is
///   removed later, at a small cost that few calls pay.
/// - **Calls** run one after another on the thread of the caller, without a lock. So a delegate may add and remove
///   members, including itself, and invoke the delegates again. A member that is added during a round is called from
///   the next round on. A member that is removed or released before its turn is skipped. Strongly held members of a
///   round live until its end.
/// - **Concurrency**: the collection is `Sendable` if `Delegate` is; then every method may be called from any thread at
///   any time. While one thread removes a delegate, another one may be about to call it: this call may begin after
///   ``removeDelegate(_:)`` has returned. On one thread or actor no call begins afterwards. For delegates that belong to
///   different actors there is ``SharedMulticastDelegate``.
///
/// A round of n weakly held delegates costs one uncontended lock, and for each delegate a reference during its call. Adding,
/// finding and removing take constant time.
public final class MulticastDelegate<Delegate> {
    @usableFromInline let membership = Membership()
    @usableFromInline let key: (@Sendable (Delegate) -> AnyHashable)?

    /// Creates an empty collection.
    public init() { key = nil }

    /// Creates a collection that holds these delegates weakly.
    @inlinable
    public convenience init(delegates: some Sequence<Delegate>) {
        self.init()
        for delegate in delegates { addDelegate(delegate) }
    }

    /// Creates an empty collection whose members have a key as identity: two members with equal keys count as one, and
    /// the first of them stays.
    ///
    /// ```swift
    /// let stations = MulticastDelegate<any Station>(identifiedBy: \.callSign)
    /// ```
    /// - Parameter key: returns a delegate's key. Called when it is added, and again to find it; the key must not
    ///   change.
    public init<Key: Hashable & Sendable>(identifiedBy key: @escaping @Sendable (Delegate) -> Key) {
        self.key = { AnyHashable(key($0)) }
    }

    /// Adds a delegate after the others.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether the collection keeps it alive. A weakly held member that is added with `strong` keeps its place
    ///     and is kept alive from then on.
    /// - Returns: whether it was added; `false` if it is already a member.
    @inlinable @discardableResult
    public func addDelegate(_ delegate: Delegate, holding: DelegateHolding = .weak) -> Bool {
        withExtendedLifetime(delegate) { membership.add(.make(delegate, holding), identity(of: delegate)) }
    }

    /// Removes a weakly or strongly held delegate.
    /// - Returns: whether it was a member.
    @inlinable @discardableResult
    public func removeDelegate(_ delegate: Delegate) -> Bool { membership.remove(identity(of: delegate)) }

    /// Removes all delegates.
    @inlinable
    public func removeAllDelegates() { membership.removeAll() }

    /// Whether the delegate is a member.
    @inlinable
    public func contains(_ delegate: Delegate) -> Bool { membership.contains(identity(of: delegate)) }

    /// The number of members, without released ones. Takes time linear in the number of members.
    @inlinable
    public var count: Int { membership.count }

    /// The members that are alive, in the order of registration.
    @inlinable
    public var delegates: [Delegate] {
        var delegates: [Delegate] = []
        invokeDelegates { delegates.append($0) }
        return delegates
    }

    /// Calls the closure with each member, in the order of registration, on the thread of the caller.
    @inlinable
    public func invokeDelegates(_ body: (Delegate) -> Void) {
        let released = membership.members.forEachDelegate(Delegate.self, body)
        if !released.isEmpty { membership.sweep(released) }
    }

    /// Calls the closure with each member, in the order of registration, on the thread of the caller.
    /// - Returns: the results, in the same order.
    @inlinable
    public func results<Result>(_ body: (Delegate) -> Result) -> [Result] {
        var results: [Result] = []
        invokeDelegates { results.append(body($0)) }
        return results
    }

    /// Asks one member after another, in the order of registration, until one answers `false`.
    ///
    /// ```swift
    /// if windows.allSatisfy({ $0.shouldClose() }) { quit() }
    /// ```
    /// - Returns: whether all have answered `true`; `true` without members.
    @inlinable
    public func allSatisfy(_ predicate: (Delegate) throws -> Bool) rethrows -> Bool {
        for case let member? in membership.members {
            if let delegate = member.delegate(Delegate.self), try !predicate(delegate) { return false }
        }
        return true
    }

    @inlinable
    func identity(of delegate: Delegate) -> Membership.Identity {
        if let key { return .key(key(delegate)) }
        return .address(of: delegate)
    }
}

/// Correct because the lock guards all mutable state, and delegates cross threads only if they are `Sendable`.
extension MulticastDelegate: @unchecked Sendable where Delegate: Sendable {}

extension MulticastDelegate {
    /// Adds a delegate, weakly held.
    @inlinable
    public static func += (delegates: MulticastDelegate, delegate: Delegate) { delegates.addDelegate(delegate) }

    /// Removes a delegate.
    @inlinable
    public static func -= (delegates: MulticastDelegate, delegate: Delegate) { delegates.removeDelegate(delegate) }
}
