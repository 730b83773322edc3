/// The members of one multicast delegate and their lock. It does not depend on the delegates' type, so its code exists
/// once.
///
/// The lock is held for a few instructions and never while a delegate could be called or released, because its `deinit`
/// may remove itself. Of foreign code only `==` and `hash(into:)` of keys run with the lock.
@usableFromInline
final class Membership: Sendable {
    /// `@unchecked Sendable` because of the keys: registering with a key requires that it is `Sendable`.
    private struct State: @unchecked Sendable {
        /// In the order of registration.
        var members: [Member] = []
        var byIdentity: [Identity: Member] = [:]
        /// At this number of members, released ones are removed: twice as many as were left last time.
        var sweepCount = 16
    }

    private let state = Lock(State())

    @usableFromInline init() {}

    /// The current members, including released ones.
    @usableFromInline var members: [Member] { state.withLock { $0.members } }

    @usableFromInline var count: Int { members.count { $0.isAlive } }

    /// Adds a member unless its identity already has one. The caller keeps the object alive.
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
            // Its delegate was released; the new object has its address, or an equal key.
            remove(existing)
        }
    }

    @usableFromInline
    func remove(_ identity: Identity) -> Bool {
        guard let member = state.withLock({ $0.byIdentity[identity] }) else { return false }
        // A released member may have the same address as a new object, which is not a member.
        let isMember = member.isAlive
        return remove(member) && isMember
    }

    /// The caller holds the member, so that its delegate is not released with the lock held.
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

    /// Removes members that were found to be released. The caller finds them, because that takes a strong reference for
    /// a moment, which may be the last one.
    @usableFromInline
    func sweep(_ released: [Member]) {
        state.withLock { state in
            for member in released {
                member.remove()
                // The identity may belong to a newer member.
                if state.byIdentity[member.identity] === member { state.byIdentity[member.identity] = nil }
            }
            if !released.isEmpty { state.members.removeAll(where: \.isRemoved) }
            state.sweepCount = max(16, state.members.count * 2)
        }
    }
}
