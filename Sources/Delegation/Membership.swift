internal import Synchronization

/// The members of one ``MulticastDelegate`` and the lock that guards them. It knows nothing of the delegates' type, so
/// that its code exists once.
///
/// The lock is held for a few instructions and never while a delegate could be called or released: its `deinit` may want
/// to remove itself.
@usableFromInline
final class Membership: Sendable {
    private struct State {
        /// In the order of registration.
        var members: [Member] = []
        var byIdentity: [ObjectIdentifier: Member] = [:]
        /// With this many members it's time to look for released ones: twice as many as were left last time.
        var sweepCount = 16
    }

    private let state = Mutex(State())

    @usableFromInline init() {}

    /// The members of this moment, released ones included.
    @usableFromInline var members: [Member] { state.withLock { $0.members } }

    var living: [Member] { members.filter(\.isAlive) }

    @usableFromInline var count: Int { members.count { $0.isAlive } }

    /// - Parameter object: whose place it is; the caller keeps it alive.
    @usableFromInline
    func add(_ member: Member) -> Bool {
        let (isAdded, mustSweep) = state.withLock { state in
            // A member with the same identity is either this very delegate, or a released one whose memory it got.
            // To ask is safe under the lock: only this delegate could answer, and the caller holds it.
            if let existing = state.byIdentity[member.identity] {
                if existing.isAlive { return (false, false) }
                existing.remove()
                state.members.removeAll { $0 === existing }
            }
            state.members.append(member)
            state.byIdentity[member.identity] = member
            return (true, state.members.count >= state.sweepCount)
        }
        if mustSweep { sweep(members.filter { !$0.isAlive }) }
        return isAdded
    }

    @usableFromInline
    func remove(_ object: AnyObject) -> Bool {
        let identity = ObjectIdentifier(object)
        // The member leaves the lock alive: with it the collection may let go of the delegate.
        let removed = state.withLock { state in
            let removed = state.byIdentity.removeValue(forKey: identity)
            if let removed {
                removed.remove()
                if let index = state.members.firstIndex(where: { $0 === removed }) { state.members.remove(at: index) }
            }
            return removed
        }
        return removed != nil
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
    func contains(_ object: AnyObject) -> Bool {
        let identity = ObjectIdentifier(object)
        return state.withLock { $0.byIdentity[identity] }?.isAlive ?? false
    }

    /// Clears the places of members that were found to be released. Looking for them is left to the caller, because it
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
