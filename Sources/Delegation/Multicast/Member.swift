public import Synchronization

/// A member of a collection of delegates: a ``WeakMember`` or a ``StrongMember``.
///
/// `@unchecked Sendable` is correct because only the atomic address changes: a ``WeakReference`` is constant, and the
/// runtime counts atomically. The delegate is used where the collection promises it: on the caller's thread or on the
/// actor of its lane.
@usableFromInline
class Member: @unchecked Sendable {
    /// The address of the object, which identifies the member in its collection; zero after its removal, so that rounds
    /// in progress skip it.
    @inlinable final var address: UInt { storedAddress.load(ordering: .relaxed) }
    @usableFromInline final let storedAddress: Atomic<UInt>

    @usableFromInline
    init(_ address: UInt) { storedAddress = Atomic(address) }

    /// Whether its delegate can still be called. Takes a strong reference for a moment.
    @usableFromInline var isAlive: Bool { true }

    @inlinable final var isRemoved: Bool { address == 0 }

    /// Whether users of the collection count it, and can remove it.
    var isPublic: Bool { true }

    func remove() { storedAddress.store(0, ordering: .relaxed) }

    /// This one takes the place of another one with the same delegate, which rounds in progress may have.
    func succeed(_ old: Member) {}
}

/// Swift can't hold a value of an unconstrained type, such as the existential `any DownloadDelegate`, weakly; casting a
/// weak `AnyObject` back at each call would cost more than everything else, and fails for a conformance that is isolated
/// to an actor. So a weak member has a reference to the object, and a copy of the rest of the delegate's bits, which own
/// nothing. They are used only together with a strong reference to the object, which comes first in them.
///
/// 40 bytes, besides what the collection keeps for it.
@usableFromInline
final class WeakMember: Member, @unchecked Sendable {
    @usableFromInline let reference: WeakReference
    /// The second word of a delegate that has two: an existential of a class and its conformance. Of a larger one, the
    /// address of a copy, plus 1 to say so. (Words and copies are aligned, so that this bit is free.)
    @usableFromInline let word: UInt

    @usableFromInline
    init(_ object: AnyObject, word: UInt) {
        reference = WeakReference(object)
        self.word = word
        super.init(Member.address(of: object))
    }

    deinit { if word & 1 != 0 { UnsafeMutableRawPointer(bitPattern: word & ~1)?.deallocate() } }

    @usableFromInline override var isAlive: Bool { reference.load() != nil }

    @inlinable
    convenience init<Delegate>(_ delegate: Delegate) {
        let object = Member.object(of: delegate)
        let size = MemoryLayout<Delegate>.size
        let word: UInt = withUnsafeBytes(of: delegate) { bytes in
            if size <= MemoryLayout<UInt>.size { return 0 }
            if size == 2 * MemoryLayout<UInt>.size {
                return bytes.load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
            }
            let copy = UnsafeMutableRawBufferPointer.allocate(
                byteCount: size, alignment: MemoryLayout<Delegate>.alignment)
            copy.copyMemory(from: bytes)
            return UInt(bitPattern: copy.baseAddress) | 1
        }
        self.init(object, word: word)
    }

    /// The delegate, or `nil` if it was released.
    @inlinable @inline(__always)
    func load<Delegate>(_: Delegate.Type) -> Delegate? {
        guard let object = reference.load() else { return nil }
        // The retained reference becomes the ownership that the bits lack.
        var bits = (Unmanaged.passRetained(object).toOpaque(), word)
        if MemoryLayout<Delegate>.size > MemoryLayout.size(ofValue: bits) {
            let copy = UnsafeMutableRawPointer(bitPattern: word & ~1).unsafelyUnwrapped
            return copy.bindMemory(to: Delegate.self, capacity: 1).move()
        }
        return withUnsafeMutablePointer(to: &bits) {
            UnsafeMutableRawPointer($0).bindMemory(to: Delegate.self, capacity: 1).move()
        }
    }
}

/// A delegate that the collection keeps alive.
@usableFromInline
class StrongMember<Delegate>: Member, @unchecked Sendable {
    @usableFromInline final let delegate: Delegate
    private var predecessor: Member?

    @inlinable
    convenience init(_ delegate: Delegate) { self.init(delegate, for: Member.object(of: delegate)) }

    /// - Parameter object: what identifies the member.
    @usableFromInline
    init(_ delegate: Delegate, for object: AnyObject) {
        self.delegate = delegate
        super.init(Member.address(of: object))
    }

    final override func remove() {
        super.remove()
        predecessor?.remove()
    }

    final override func succeed(_ old: Member) { predecessor = old }
}

extension Member {
    /// The member's delegate; `nil` if it was released or removed.
    @inlinable @inline(__always)
    final func delegate<Delegate>(_: Delegate.Type) -> Delegate? {
        if isRemoved { return nil }
        return type(of: self) == WeakMember.self
            ? unsafeDowncast(self, to: WeakMember.self).load(Delegate.self)
            : unsafeDowncast(self, to: StrongMember<Delegate>.self).delegate
    }

    @inlinable
    static func make<Delegate>(_ delegate: Delegate, _ holding: DelegateHolding) -> Member {
        holding == .weak ? WeakMember(delegate) : StrongMember(delegate)
    }

    @inlinable
    static func address(of object: AnyObject) -> UInt { UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()) }

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

/// Stands for an actor, which is not kept alive, and which its delegate calls.
final class ActorMember<Delegate>: StrongMember<Delegate>, @unchecked Sendable {
    private weak let actor: (any Actor)?

    init(_ delegate: Delegate, for actor: any Actor) {
        self.actor = actor
        super.init(delegate, for: actor)
    }

    override var isAlive: Bool { actor != nil }
}

/// A closure of the library itself.
final class InternalMember<Delegate>: StrongMember<Delegate>, @unchecked Sendable {
    override var isPublic: Bool { false }
}
