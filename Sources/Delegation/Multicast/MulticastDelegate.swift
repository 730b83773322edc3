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
/// - **Members** are told apart by identity, or by a key of their own: one that is added twice is told once. They must be
///   instances of classes. A protocol that inherits from `AnyObject` lets the compiler see to that; where it can't, a
///   value stops the program with a message, since nothing could hold it weakly.
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
    @usableFromInline let key: (@Sendable (Delegate) -> AnyHashable)?

    /// Creates an empty collection.
    public init() { key = nil }

    /// Creates a collection that holds these delegates weakly.
    @inlinable
    public convenience init(delegates: some Sequence<Delegate>) {
        self.init()
        for delegate in delegates { addDelegate(delegate) }
    }

    /// Creates an empty collection whose members name their own identity: two with equal keys are one, and the first of
    /// them stays.
    ///
    /// ```swift
    /// let stations = MulticastDelegate<any Station>(identifiedBy: \.callSign)
    /// ```
    /// - Parameter key: what a delegate calls itself by. Asked once when it is added, and again to find it; it is
    ///   expected to stay the same.
    public init<Key: Hashable & Sendable>(identifiedBy key: @escaping @Sendable (Delegate) -> Key) {
        self.key = { AnyHashable(key($0)) }
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
        withExtendedLifetime(delegate) {
            membership.add(Member(delegate, identity(of: delegate), holding: holding))
        }
    }

    /// Removes a delegate, however it is held.
    /// - Returns: whether it was a member.
    @inlinable @discardableResult
    public func removeDelegate(_ delegate: Delegate) -> Bool { membership.remove(identity(of: delegate)) }

    /// Removes all delegates.
    @inlinable
    public func removeAllDelegates() { membership.removeAll() }

    /// Whether the delegate is a member.
    @inlinable
    public func contains(_ delegate: Delegate) -> Bool { membership.contains(identity(of: delegate)) }

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

    /// Calls the closure with each member, in the order of registration, on the thread of the caller.
    @inlinable
    public func invokeDelegates(_ body: (Delegate) -> Void) {
        forEachMember { delegate, _ in body(delegate) }
    }

    @usableFromInline
    func identity(of delegate: Delegate) -> Identity {
        key.map { .key($0(delegate)) } ?? .object(ObjectIdentifier(Member.object(of: delegate)))
    }

    @inlinable
    func forEachMember(_ body: (Delegate, Member) -> Void) {
        // Stays empty most of the time, and then costs nothing.
        var released: [Member] = []
        membership.members.withUnsafeBufferPointer { members in
            // The array holds the members for the whole round. Not to retain each of them saves a third of the time.
            for member in UnsafeRawBufferPointer(members).bindMemory(to: Unmanaged<Member>.self) {
                member._withUnsafeGuaranteedRef { member in
                    if member.isRemoved { return }
                    if member.retained != nil {
                        body(member.bits.assumingMemoryBound(to: Delegate.self).pointee, member)
                    } else if let delegate: Delegate = member.load() {
                        body(delegate, member)
                    } else {
                        released.append(member)
                    }
                }
            }
        }
        if !released.isEmpty { membership.sweep(released) }
    }
}

/// True because the lock guards all that changes, and delegates only cross threads when they may.
extension MulticastDelegate: @unchecked Sendable where Delegate: Sendable {}

extension MulticastDelegate {
    /// Adds a delegate, weakly held.
    @inlinable
    public static func += (delegates: MulticastDelegate, delegate: Delegate) { delegates.addDelegate(delegate) }

    /// Removes a delegate.
    @inlinable
    public static func -= (delegates: MulticastDelegate, delegate: Delegate) { delegates.removeDelegate(delegate) }
}
