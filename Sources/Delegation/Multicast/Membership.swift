/// The members of one multicast and the lock that guards them. It knows nothing of the delegates' type, so that its code
/// exists once.
///
/// The lock is held for a few instructions and never while a delegate could be called or released: its `deinit` may want
/// to remove itself. Of other people's code only `==` and `hash(into:)` of keys run under it.
@usableFromInline
final class Membership: Sendable {
    /// `@unchecked Sendable` because of the keys in it: what registers with a key demands that it is `Sendable`.
    private struct State: @unchecked Sendable {
        /// In the order of registration.
        var members: [Member] = []
        var byIdentity: [Identity: Member] = [:]
        /// With this many members it's time to look for released ones: twice as many as were left last time.
        var sweepCount = 16
    }

    private let state = Lock(State())

    @usableFromInline init() {}

    /// The members of this moment, released ones included.
    @usableFromInline var members: [Member] { state.withLock { $0.members } }

    @usableFromInline var count: Int { members.count { $0.isAlive } }

    /// Adds a member unless its identity has a place already. The caller keeps the object alive.
    @usableFromInline
    func add(_ member: Member) -> Bool {
        while true {
            let (existing, mustSweep) = state.withLock { state -> (Member?, Bool) in
                if let existing = state.byIdentity[member.identity] { return (existing, false) }
                state.members.append(member)
                state.byIdentity[member.identity] = member
                return (nil, state.members.count >= state.sweepCount)
            }
            guard let existing else {
                if mustSweep { sweep(members.filter { !$0.isAlive }) }
                return true
            }
            if existing.isAlive { return false }
            // Its delegate was released; the newcomer got its memory, or has an equal key.
            remove(existing)
        }
    }

    @usableFromInline
    func remove(_ identity: Identity) -> Bool {
        guard let member = state.withLock({ $0.byIdentity[identity] }) else { return false }
        // A member that was released may have left its place to a new object in its memory, which is none.
        let isMember = member.isAlive
        return remove(member) && isMember
    }

    /// The caller holds the member, so that its delegate isn't released under the lock.
    @discardableResult
    func remove(_ member: Member) -> Bool {
        state.withLock { state in
            guard state.byIdentity[member.identity] === member else { return false }
            state.byIdentity[member.identity] = nil
            member.remove()
            if let index = state.members.firstIndex(where: { $0 === member }) { state.members.remove(at: index) }
            return true
        }
    }

    @usableFromInline
    func removeAll() {
        let removed = state.withLock { state in
            for member in state.members { member.remove() }
            defer { state = State() }
            return state
        }
        withExtendedLifetime(removed) {}
    }

    @usableFromInline
    func contains(_ identity: Identity) -> Bool {
        state.withLock { $0.byIdentity[identity] }?.isAlive ?? false
    }

    /// Clears the places of all members that were found to be released. Looking for them is left to the caller, because it
    /// takes a strong reference for a moment, and that may turn out to be the last.
    @usableFromInline
    func sweep(_ released: [Member]) {
        state.withLock { state in
            for member in released {
                member.remove()
                // Its identity may belong to a successor by now.
                if state.byIdentity[member.identity] === member { state.byIdentity[member.identity] = nil }
            }
            if !released.isEmpty { state.members.removeAll(where: \.isRemoved) }
            state.sweepCount = max(16, state.members.count * 2)
        }
    }
}
