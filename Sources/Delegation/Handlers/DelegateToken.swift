/// The registration of a handler or a delegate. It ends when the token is released.
///
/// Keep the token with the object that is notified, in a property. It does not keep the collection alive.
public final class DelegateToken: Sendable {
    private weak let membership: Membership?
    private let member: Member

    @usableFromInline
    init(_ membership: Membership, _ member: Member) {
        self.membership = membership
        self.member = member
    }

    /// Ends the registration now. Further calls have no effect.
    public func cancel() { membership?.remove(member) }

    deinit { cancel() }
}

/// Tokens are distinguished by identity, so that they can be kept in a set.
extension DelegateToken: Hashable {
    public static func == (left: DelegateToken, right: DelegateToken) -> Bool { left === right }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension MulticastDelegate where Delegate: Sendable {
    /// Adds a delegate after the others and keeps it alive as long as the token lives.
    /// - Returns: the registration; `nil` if the delegate is already a member.
    public func register(_ delegate: Delegate) -> DelegateToken? {
        let member = StrongMember(delegate)
        let isAdded = membership.add(member, identity(of: delegate), replacesWeak: false)
        return isAdded ? DelegateToken(membership, member) : nil
    }
}

extension Membership {
    /// Adds a delegate of its own for a closure.
    ///
    /// - Parameters:
    ///   - actor: where it is called; `nil` for the thread of each caller.
    ///   - delivery: see ``add(_:_:on:_:first:replacesWeak:)``.
    ///   - first: see ``add(_:_:on:_:first:replacesWeak:)``.
    @inlinable
    func token<Delegate>(
        for new: Delegate, on actor: (any Actor)? = nil, _ delivery: StateDelivery = .every,
        first: (() -> Message?)? = nil
    ) -> DelegateToken {
        token(of: StrongMember(new), on: actor, delivery, first: first)
    }

    @usableFromInline
    func token(
        of member: Member, on actor: (any Actor)?, _ delivery: StateDelivery, first: (() -> Message?)?
    ) -> DelegateToken {
        add(member, .address(member.address), on: actor, delivery, first: first)
        return DelegateToken(self, member)
    }
}
