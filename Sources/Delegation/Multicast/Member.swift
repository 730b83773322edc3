public import Synchronization

/// A delegate's place in a multicast, whatever the type of the delegates.
///
/// Swift can't hold a value of an unconstrained type, an existential such as `any DownloadDelegate`, weakly; casting a
/// weak `AnyObject` back to it at each call would cost more than all the rest. So the place remembers the bits of the
/// delegate without a share in its ownership, and a reference to the object next to them. The bits are used only
/// together with a strong reference to the object.
///
/// `@unchecked Sendable` is true because nothing here changes but the atomic flag; a weak reference is cleared by the
/// runtime, atomically. The delegate crosses threads only if the collection may.
@usableFromInline
final class Member: @unchecked Sendable {
    // What a round looks at comes first, and so is in one cache line.

    /// Set when the delegate leaves the collection, so that rounds that have begun skip it.
    @usableFromInline let removed = Atomic(false)
    /// The object when it is held strongly.
    @usableFromInline let retained: AnyObject?
    /// The object when it is held weakly.
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

/// By what the members of a collection are told apart.
@usableFromInline
enum Identity: Hashable {
    case object(ObjectIdentifier)
    /// What the delegate calls itself by.
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

    /// The delegate that is held weakly, or `nil` when it has been released.
    @inlinable @inline(__always)
    func load<Delegate>() -> Delegate? {
        guard let object else { return nil }
        // The reference that was just loaded becomes the share in ownership that the bits lack.
        _ = Unmanaged.passRetained(object)
        return bits.assumingMemoryBound(to: Delegate.self).move()
    }

    /// The delegate, however it is held; `nil` when it has been released or has left.
    @inlinable
    func delegate<Delegate>() -> Delegate? {
        if isRemoved { return nil }
        return retained == nil ? load() : bits.assumingMemoryBound(to: Delegate.self).pointee
    }

    /// The object that a delegate is. Stops the program for anything else.
    @inlinable
    static func object<Delegate>(of delegate: Delegate) -> AnyObject {
        // The conversion to AnyObject below never fails: it would put a value into a box that is gone at once.
        precondition(
            type(of: delegate as Any) is AnyClass,
            "A delegate must be an instance of a class, because it is held weakly and compared by identity; "
                + "\(type(of: delegate as Any)) is not a class.")
        return delegate as AnyObject
    }
}
