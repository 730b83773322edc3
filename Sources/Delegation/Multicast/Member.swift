public import Synchronization

/// A member of a multicast delegate, for any type of delegates.
///
/// Swift can't hold a value of an unconstrained type, such as the existential `any DownloadDelegate`, weakly; casting a
/// weak `AnyObject` back at each call would cost more than everything else. So a member has the bits of the delegate
/// without ownership, and a reference to the object. The bits are used only together with a strong reference to the
/// object.
///
/// `@unchecked Sendable` is correct because only the atomic flag changes; the runtime clears a weak reference
/// atomically. The delegate crosses threads only if the collection may.
@usableFromInline
final class Member: @unchecked Sendable {
    // The properties that a round uses come first, so that they share a cache line.

    /// Set when the delegate is removed, so that rounds in progress skip it.
    @usableFromInline let removed = Atomic(false)
    /// The object, if it is held strongly.
    @usableFromInline let retained: AnyObject?
    /// The object, if it is held weakly.
    @usableFromInline weak let object: AnyObject?
    /// A copy of the delegate that was made without retaining it, and is never destroyed.
    @usableFromInline let bits: UnsafeMutableRawPointer

    let identity: Identity
    /// Where the delegate is called; `nil` for the thread of the caller.
    let queue: DelegateQueue?

    @usableFromInline
    init(
        _ object: AnyObject, _ identity: Identity, holding: DelegateHolding, queue: DelegateQueue?,
        bits: UnsafeMutableRawPointer
    ) {
        self.identity = identity
        self.queue = queue
        retained = holding == .strong ? object : nil
        self.object = holding == .weak ? object : nil
        self.bits = bits
    }

    deinit { bits.deallocate() }

    @usableFromInline var isAlive: Bool { retained != nil || object != nil }

    @inlinable var isRemoved: Bool { removed.load(ordering: .relaxed) }

    func remove() { removed.store(true, ordering: .relaxed) }
}

/// Distinguishes the members of a collection.
@usableFromInline
enum Identity: Hashable {
    case object(ObjectIdentifier)
    /// The delegate's own key.
    case key(AnyHashable)
}

extension Member {
    @inlinable
    convenience init<Delegate>(
        _ delegate: Delegate, _ identity: Identity, holding: DelegateHolding, queue: DelegateQueue? = nil
    ) {
        let object = Member.object(of: delegate)
        let bits = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<Delegate>.size, alignment: MemoryLayout<Delegate>.alignment)
        withUnsafePointer(to: delegate) { bits.copyMemory(from: $0, byteCount: MemoryLayout<Delegate>.size) }
        self.init(object, identity, holding: holding, queue: queue, bits: bits)
    }

    /// The weakly held delegate, or `nil` if it was released.
    @inlinable @inline(__always)
    func load<Delegate>() -> Delegate? {
        guard let object else { return nil }
        // The loaded reference becomes the ownership that the bits lack.
        _ = Unmanaged.passRetained(object)
        return bits.assumingMemoryBound(to: Delegate.self).move()
    }

    /// The delegate; `nil` if it was released or removed.
    @inlinable
    func delegate<Delegate>() -> Delegate? {
        if isRemoved { return nil }
        return retained == nil ? load() : bits.assumingMemoryBound(to: Delegate.self).pointee
    }

    /// The object of a delegate. Stops the program for a value that is not an object.
    @inlinable
    static func object<Delegate>(of delegate: Delegate) -> AnyObject {
        // The conversion to AnyObject below never fails: it would box a value temporarily.
        precondition(
            type(of: delegate as Any) is AnyClass,
            "A delegate must be an instance of a class, because it is held weakly and compared by identity; "
                + "\(type(of: delegate as Any)) is not a class.")
        return delegate as AnyObject
    }
}
