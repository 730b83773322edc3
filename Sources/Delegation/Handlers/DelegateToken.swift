/// The registration of a handler or a delegate. It ends when the token is released.
///
/// Keep the token with the object that is notified, in a property. It does not keep the collection alive.
public final class DelegateToken: Sendable {
    private weak let membership: Membership?
    private let member: Member

    init(_ membership: Membership, _ member: Member) {
        self.membership = membership
        self.member = member
    }

    /// Ends the registration now. Further calls have no effect.
    public func cancel() { membership?.remove(member) }

    deinit { cancel() }
}

extension MulticastDelegate where Delegate: Sendable {
    /// Adds a delegate after the others and keeps it alive as long as the token lives.
    /// - Returns: the registration; `nil` if the delegate is already a member.
    public func register(_ delegate: Delegate) -> DelegateToken? {
        let member = Member(delegate, identity(of: delegate), holding: .strong)
        return membership.add(member) ? DelegateToken(membership, member) : nil
    }

    /// Adds a new delegate, which can't be a member yet.
    func token(for new: Delegate) -> DelegateToken {
        let member = Member(new, .object(ObjectIdentifier(Member.object(of: new))), holding: .strong)
        _ = membership.add(member)
        return DelegateToken(membership, member)
    }
}
