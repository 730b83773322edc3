/// The registration of a handler or a delegate: it ends when the token is released.
///
/// Keep the token where the handler belongs, in a property of the object that wants to be told. It doesn't keep the
/// collection alive.
public final class DelegateToken: Sendable {
    private weak let membership: Membership?
    private let member: Member

    init(_ membership: Membership, _ member: Member) {
        self.membership = membership
        self.member = member
    }

    /// Ends the registration now. To do so again changes nothing.
    public func cancel() { membership?.remove(member) }

    deinit { cancel() }
}

extension MulticastDelegate where Delegate: Sendable {
    /// Adds a delegate behind the others and keeps it alive as long as the token lives.
    /// - Returns: the registration; `nil` when the delegate is a member already.
    public func register(_ delegate: Delegate) -> DelegateToken? {
        let member = Member(delegate, identity(of: delegate), holding: .strong)
        return membership.add(member) ? DelegateToken(membership, member) : nil
    }

    /// Adds a delegate that was made just now, so that it can't be a member yet.
    func token(for new: Delegate) -> DelegateToken {
        let member = Member(new, .object(ObjectIdentifier(Member.object(of: new))), holding: .strong)
        _ = membership.add(member)
        return DelegateToken(membership, member)
    }
}
