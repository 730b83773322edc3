/// The members of a collection of delegates, by the lane in which they are called, and their lock. It does not depend on
/// the delegates' type, so its code exists once.
///
/// The lock is held for a few instructions and never while a delegate could be called or released, because its `deinit`
/// may remove itself. Of foreign code only `==` and `hash(into:)` of keys run with the lock.
///
/// `@unchecked Sendable` is correct because the lock guards all that changes here and in the lanes, and registering with a
/// key requires that it is `Sendable`.
@usableFromInline
final class Membership: @unchecked Sendable {
    /// The identity of a member: the object, or a key of its own.
    @usableFromInline
    enum Identity {
        case address(UInt)
        case key(AnyHashable)
    }

    private let lock = Lock(())
    /// Members that are called by the thread of each caller, with every message.
    private let free: Lane
    /// The other members: one lane for each actor and kind of delivery.
    private(set) var bound: [Lane] = []
    /// With as many lanes, a sweep also removes the lanes of actors that ended, which get no other members.
    private var laneSweepCount = 16
    /// The number of messages that may wait in a lane.
    private let limit: Int
    /// Messages that were dropped, in all lanes.
    private var dropped = 0
    /// Members that have keys, and back.
    private var byKey: [AnyHashable: Member] = [:]
    private var keys: [ObjectIdentifier: AnyHashable] = [:]
    /// Keys of removed members, to be released without the lock: a key may hold objects.
    private var unusedKeys: [AnyHashable] = []

    /// How many messages may wait in a lane if nothing else is said.
    @inlinable static var defaultLimit: Int { 10_000 }

    @usableFromInline
    init(limit: Int = defaultLimit) {
        self.limit = limit
        free = Lane(nil, .every, limit: limit)
    }

    /// For code that is inlined, which has a value guarded by this lock.
    @usableFromInline func acquire() { lock.acquire() }
    @usableFromInline func release() { lock.release() }

    private func withLock<Result>(_ body: () -> Result) -> Result {
        lock.acquire()
        let result = body()
        let unused = takeUnusedKeys()
        lock.release()
        withExtendedLifetime(unused) {}
        return result
    }

    private func takeUnusedKeys() -> [AnyHashable] {
        if unusedKeys.isEmpty { return [] }
        defer { unusedKeys = [] }
        return unusedKeys
    }

    // MARK: Members

    /// The members that are called by the thread of the caller, including released ones; `nil` where one was removed.
    @usableFromInline var members: [Member?] {
        lock.acquire()
        defer { lock.release() }
        return free.roster.slots
    }

    private var all: [Member] { withLock { lanes.flatMap { $0.roster.slots.compactMap { $0 } } } }

    @usableFromInline var count: Int { all.count { $0.isAlive && $0.isPublic } }

    @usableFromInline var droppedCount: Int { withLock { dropped } }

    /// Adds a member unless its identity has one; if that one is held weakly and this one strongly, it may take its place.
    /// The caller keeps the object alive.
    ///
    /// - Parameters:
    ///   - actor: where it is called; `nil` for the thread of each caller.
    ///   - delivery: the changes that it is called for if it is busy.
    ///   - first: makes a message for this member alone, before all that is sent from now on; `nil` if there is none.
    ///     Called with the lock.
    ///   - replacesWeak: whether it replaces one that is held weakly.
    /// - Returns: whether it was added.
    @usableFromInline @discardableResult
    func add(
        _ new: Member, _ identity: Identity, on actor: (any Actor)? = nil, _ delivery: StateDelivery = .every,
        first: (() -> Message?)? = nil, replacesWeak: Bool = true
    ) -> Bool {
        while true {
            var mustSweep = false
            var ready = Ready()
            let existing: Member? = withLock {
                if let existing = member(identity) { return existing }
                let lane = lane(on: actor, delivery)
                lane.roster.append(new)
                if case .key(let key) = identity { enter(new, key) }
                mustSweep = lane.roster.count >= lane.sweepCount || bound.count >= laneSweepCount
                if let message = first?() {
                    lane.appendFirst(item(message, for: [new]))
                    if starts(lane) { ready.lanes = [lane] }
                }
                return nil
            }
            guard let existing else {
                if mustSweep { sweep() }
                process(ready)
                return true
            }
            if existing.isAlive {
                if replacesWeak, existing is WeakMember && !(new is WeakMember) { replace(existing, by: new) }
                return false
            }
            // Its delegate was released; the new object has its address, or an equal key.
            remove(existing)
        }
    }

    @usableFromInline @discardableResult
    func remove(_ identity: Identity) -> Bool {
        let removed = withLock { take(identity) }
        // A released member may have had the same address as a new object, which is not a member.
        return removed?.isAlive ?? false
    }

    /// The caller holds the member, so that its delegate is not released with the lock held.
    @discardableResult
    func remove(_ member: Member) -> Bool { withLock { take(member) } }

    @usableFromInline
    func removeAll() {
        let removed: [Member] = withLock {
            let removed = lanes.flatMap { $0.roster.slots.compactMap { $0 } }.filter { $0.isPublic }
            for member in removed { _ = take(member) }
            return removed
        }
        withExtendedLifetime(removed) {}
    }

    @usableFromInline
    func contains(_ identity: Identity) -> Bool { withLock { member(identity) }?.isAlive ?? false }

    /// Removes members that were found to be released. The caller finds them, because that takes a strong reference for
    /// a moment, which may be the last one.
    @usableFromInline
    func sweep(_ released: [Member]) { withLock { for member in released { _ = take(member) } } }

    private func sweep() {
        sweep(all.filter { !$0.isAlive })
        withLock {
            for lane in lanes { lane.sweepCount = max(16, lane.roster.count * 2) }
            laneSweepCount = max(16, bound.count * 2)
        }
    }

    private func replace(_ weak: Member, by strong: Member) {
        withLock {
            for lane in lanes where lane.roster.replace(weak, by: strong) {
                if let key = keys.removeValue(forKey: ObjectIdentifier(weak)) { enter(strong, key) }
                return
            }
        }
    }

    // MARK: With the lock

    private var lanes: [Lane] { [free] + bound }

    private func member(_ identity: Identity) -> Member? {
        switch identity {
        case .key(let key): return byKey[key]
        case .address(let address):
            if let member = free.roster.member(at: address) { return member }
            for lane in bound { if let member = lane.roster.member(at: address) { return member } }
            return nil
        }
    }

    private func enter(_ member: Member, _ key: AnyHashable) {
        byKey[key] = member
        keys[ObjectIdentifier(member)] = key
    }

    private func take(_ identity: Identity) -> Member? {
        // The common case looks for the member once.
        if keys.isEmpty, case .address(let address) = identity, let member = free.roster.remove(at: address) {
            return member
        }
        return member(identity).flatMap { take($0) ? $0 : nil }
    }

    private func take(_ member: Member) -> Bool {
        if !keys.isEmpty, let key = keys.removeValue(forKey: ObjectIdentifier(member)) {
            byKey[key] = nil
            unusedKeys.append(key)
        }
        if free.roster.remove(member) { return true }
        guard let index = bound.firstIndex(where: { $0.roster.remove(member) }) else { return false }
        if bound[index].phase == .idle { becomeIdle(bound[index]) }
        return true
    }

    /// Nothing waits in the lane. Without members it is not kept: its actor may end and never have others.
    private func becomeIdle(_ lane: Lane) {
        lane.phase = .idle
        if lane.roster.count == 0 { bound.removeAll { $0 === lane } }
    }

    private func lane(on actor: (any Actor)?, _ delivery: StateDelivery) -> Lane {
        if actor == nil && delivery == .every { return free }
        if let lane = existingLane(on: actor, delivery) { return lane }
        let lane = Lane(actor, delivery, limit: limit)
        bound.append(lane)
        return lane
    }

    private func existingLane(on actor: (any Actor)?, _ delivery: StateDelivery) -> Lane? {
        // A lane whose actor was released is not used again, and ends with its next message.
        // (The address comes first, because to ask another one for its actor could release that.)
        let identity = actor.map(ObjectIdentifier.init)
        return bound.first {
            $0.isolation == identity && $0.delivery == delivery && (identity == nil || $0.actor != nil)
        }
    }

    // MARK: Messages

    /// Members that this thread calls now, without a message that waits. To be ended with ``finish(_:released:)``.
    @usableFromInline
    struct Round {
        fileprivate let lane: Lane
        @usableFromInline let members: [Member?]
    }

    /// Called with the lock.
    @usableFromInline var hasMembers: Bool { free.roster.count > 0 || !bound.isEmpty }

    /// Called with the lock.
    /// - Returns: all members, if this thread may call them, and nothing is before.
    @usableFromInline
    func begin() -> Round? {
        let lane: Lane
        if bound.isEmpty {
            lane = free
        } else if bound.count == 1 && free.roster.count == 0 {
            lane = bound[0]
        } else {
            return nil
        }
        guard lane.phase == .idle, lane.isHere else { return nil }
        lane.phase = .busy
        return Round(lane: lane, members: lane.roster.slots)
    }

    /// Sends what came during the round.
    @usableFromInline
    func finish(_ round: Round, released: [Member]) {
        if !released.isEmpty { sweep(released) }
        lock.acquire()
        let isIdle = round.lane.next == nil
        if isIdle { becomeIdle(round.lane) }
        lock.release()
        if !isIdle { run(round.lane) }
    }

    /// The work that the caller does without the lock.
    @usableFromInline
    struct Ready {
        /// Lanes in which messages wait, and which no other thread processes.
        fileprivate var lanes: [Lane] = []
        /// To be released.
        fileprivate var displaced: [Lane.Displaced] = []
    }

    /// Sends a message to all members, after those that wait. Called with the lock.
    /// - Returns: to be passed to ``process(_:)`` without it.
    @usableFromInline
    func enqueue(_ message: Message) -> Ready {
        var ready = Ready()
        for lane in lanes where lane.roster.count > 0 { append(message, for: lane.roster.slots, to: lane, &ready) }
        return ready
    }

    /// Sends a message on the main actor, after those that wait there. Called with the lock.
    /// - Parameter includesOthers: whether members that were not added on the main actor are called there too.
    /// - Returns: to be passed to ``process(_:)`` without it.
    @usableFromInline
    func enqueueOnMain(_ message: Message, includesOthers: Bool) -> Ready {
        var ready = Ready()
        let lane = existingLane(on: MainActor.shared, .every)
        let members = includesOthers ? lanes.flatMap { $0.roster.slots } : lane?.roster.slots ?? []
        if !members.isEmpty {
            append(message, for: members, to: lane ?? self.lane(on: MainActor.shared, .every), &ready)
        }
        return ready
    }

    private func item(_ message: Message, for members: [Member?]) -> Lane.Item {
        Lane.Item(message: message, members: members, thread: ThreadIdentity.current)
    }

    private func append(_ message: Message, for members: [Member?], to lane: Lane, _ ready: inout Ready) {
        if let displaced = lane.append(item(message, for: members)) {
            if case .dropped = displaced { dropped += 1 }
            ready.displaced.append(displaced)
        }
        if starts(lane) { ready.lanes.append(lane) }
    }

    /// Whether the caller has to process the lane.
    private func starts(_ lane: Lane) -> Bool {
        switch lane.phase {
        case .busy: return false
        case .scheduled where !lane.isHere: return false
        case .scheduled, .idle:
            // A change by this thread overtakes nothing: it sends what waits.
            lane.phase = lane.isHere ? .busy : .scheduled
            return true
        }
    }

    @usableFromInline
    func process(_ ready: Ready) {
        for lane in ready.lanes { if lane.isHere { run(lane) } else { schedule(lane) } }
        withExtendedLifetime(ready.displaced) {}
    }

    /// Messages of other threads that a thread sends before it leaves the others to a job, so that it isn't kept.
    private static let courtesy = 32

    /// Sends what waits.
    private func run(_ lane: Lane) {
        let thread = ThreadIdentity.current
        var left = Self.courtesy
        while true {
            lock.acquire()
            guard let item = lane.next else {
                becomeIdle(lane)
                return lock.release()
            }
            if item.thread != thread { left -= 1 }
            guard left >= 0 else {
                lane.phase = .scheduled
                lock.release()
                return schedule(lane)
            }
            lane.removeNext()
            lock.release()
            let released = item.message.send(to: item.members)
            if !released.isEmpty { sweep(released) }
        }
    }

    private func schedule(_ lane: Lane) {
        if lane.isolation == nil {
            Task { resume(lane) }
        } else if let actor = lane.actor {
            Task { await resume(lane, on: actor) }
        } else {
            end(lane)
        }
    }

    private func resume(_ lane: Lane, on actor: isolated any Actor) { resume(lane) }

    private func resume(_ lane: Lane) {
        let isMine = withLock {
            // Another thread may have sent all of it.
            if lane.phase != .scheduled { return false }
            lane.phase = .busy
            return true
        }
        if isMine { run(lane) }
    }

    /// The actor was released, and with it all that its members wait for.
    private func end(_ lane: Lane) {
        let roster = withLock {
            bound.removeAll { $0 === lane }
            defer { lane.roster = Roster() }
            return lane.roster
        }
        withExtendedLifetime(roster) {}
    }
}
