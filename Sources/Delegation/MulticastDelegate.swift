/// Tells many delegates what one would be told: a strong collection of members that it holds weakly, or strongly by choice.
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
/// - **Members** are told apart by identity: one that is added twice is told once. They must be instances of classes;
///   any other type stops the program with a message, since nothing could hold it weakly.
/// - **Order** is that of registration.
/// - **Lifetime**: a weakly held member needs no removal. Once released it is told nothing more, and its place is cleared
///   later, at a cost that is small and not paid by every call.
/// - **Calls** run one after another on the thread of the caller, outside any lock. So a delegate may add and remove
///   members, itself included, and invoke the delegates again. Whoever joins during a round hears from the next one on.
///   Whoever leaves or is released during a round before its turn is not told; only a call that another thread
///   has already begun still ends. The members of a round that are held strongly live to its end.
/// - **Concurrency**: every method may be called from every thread at any time. The collection is `Sendable` when
///   `Delegate` is, so let the protocol inherit from `Sendable` to share it between threads.
///
/// A round of n weakly held delegates costs one uncontended lock and n times what the runtime needs to load a weak
/// reference. Adding and finding take constant time, removing grows with the number of members.
public final class MulticastDelegate<Delegate> {
    @usableFromInline let membership = Membership()

    /// Creates an empty collection.
    public init() {}

    /// Creates a collection that holds these delegates weakly.
    @inlinable
    public convenience init(delegates: some Sequence<Delegate>) {
        self.init()
        for delegate in delegates { addDelegate(delegate) }
    }

    /// Adds a delegate behind the others.
    ///
    /// - Parameters:
    ///   - delegate: an instance of a class.
    ///   - holding: whether the collection keeps it alive. For a delegate that is a member already nothing changes; remove
    ///     it first to hold it otherwise.
    /// - Returns: whether it was added; `false` when it is a member already.
    @inlinable @discardableResult
    public func addDelegate(_ delegate: Delegate, holding: DelegateHolding = .weak) -> Bool {
        withExtendedLifetime(delegate) { membership.add(Member(delegate, holding: holding)) }
    }

    /// Removes a delegate, however it is held.
    /// - Returns: whether it was a member.
    @inlinable @discardableResult
    public func removeDelegate(_ delegate: Delegate) -> Bool {
        membership.remove(Member.object(of: delegate))
    }

    /// Removes all delegates.
    @inlinable
    public func removeAllDelegates() { membership.removeAll() }

    /// Whether the delegate is a member.
    @inlinable
    public func contains(_ delegate: Delegate) -> Bool {
        membership.contains(Member.object(of: delegate))
    }

    /// How many members there are, released ones not counted. Looks at each of them.
    @inlinable
    public var count: Int { membership.count }

    /// The members that are alive, in the order of registration.
    @inlinable
    public var delegates: [Delegate] {
        var delegates: [Delegate] = []
        invokeDelegates { delegates.append($0) }
        return delegates
    }

    /// Calls the closure with each member, in the order of registration.
    ///
    /// - Parameter body: may throw: the first error ends the round, and the members behind are not told.
    @inlinable
    public func invokeDelegates<Failure: Error>(_ body: (Delegate) throws(Failure) -> Void) throws(Failure) {
        // Stays empty most of the time, and then costs nothing.
        var released: [Member] = []
        try membership.members.withUnsafeBufferPointer { members throws(Failure) in
            // The array holds the members for the whole round. Not to retain each of them saves a third of the time.
            for member in UnsafeRawBufferPointer(members).bindMemory(to: Unmanaged<Member>.self) {
                if member._withUnsafeGuaranteedRef({ $0.isRemoved }) { continue }
                if let bits = member._withUnsafeGuaranteedRef({ $0.retained == nil ? nil : $0.bits }) {
                    try body(bits.assumingMemoryBound(to: Delegate.self).pointee)
                } else if let delegate: Delegate = member._withUnsafeGuaranteedRef({ $0.load() }) {
                    try body(delegate)
                } else {
                    released.append(member.takeUnretainedValue())
                }
            }
        }
        if !released.isEmpty { membership.sweep(released) }
    }
}

/// True because the lock guards all that changes, and delegates only cross threads when they may.
extension MulticastDelegate: @unchecked Sendable where Delegate: Sendable {}

/// How a ``MulticastDelegate`` holds a member.
public enum DelegateHolding: Hashable, Sendable {
    /// The member lives as long as others want it to.
    case weak
    /// The collection keeps it alive until it is removed.
    case strong
}
