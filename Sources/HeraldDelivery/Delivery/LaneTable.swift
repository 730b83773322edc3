import HeraldModel

/// The lanes of one delivery loop, by the keys of their delegates and by the indices that the scheduler uses. Confined
/// to one thread.
final class LaneTable {
    /// Finds the lanes for an event, and the lane whose turn it is.
    let scheduler = FairScheduler()
    private let origins: OriginRates
    private var lanes: [Lane?] = []
    private var places: [DelegateKey: Int] = [:]
    private var freePlaces: [Int] = []
    /// Number of active delegates. The lanes of the others do not advance, or have ended.
    private(set) var activeDelegates = 0
    /// By the number of the shard; `nil` if its lanes are at the loop's position in the log.
    private var detours: [Detour?] = Array(repeating: nil, count: Shards.count)

    /// - Parameter origins: those of all loops.
    init(origins: OriginRates = OriginRates()) { self.origins = origins }

    subscript(key: DelegateKey) -> Lane? { places[key].flatMap { lanes[$0] } }

    func contains(_ key: DelegateKey) -> Bool { places[key] != nil }

    func at(_ place: Int) -> Lane? { lanes[place] }

    /// The lane whose turn it is at these slots.
    func next(_ slots: Slots) -> Lane? {
        scheduler.next(slots.isBusyWithUnproven ? .proven : .all, free: slots.free).flatMap { lanes[$0] }
    }

    /// All lanes.
    var all: [Lane] { lanes.compactMap { $0 } }

    // MARK: Adding, changing and removing lanes

    /// Adds a lane. The scheduler offers it no events before `listen`.
    func insert(_ lane: Lane) {
        let place = freePlaces.popLast() ?? lanes.count
        if place == lanes.count { lanes.append(lane) } else { lanes[place] = lane }
        lane.join(place, share: scheduler.join(lane.delegate.app))
        lane.origin = origins.join(lane.delegate)
        places[lane.key] = place
        count(lane.delegate, 1)
    }

    /// A lane that gets no events, for a single call.
    func welcome(_ delegate: WebhookDelegate) -> Lane {
        let lane = Lane(delegate, next: nil, position: 0, maxWaiting: 0)
        lane.join(Self.nowhere, share: scheduler.join(delegate.app))
        return lane
    }

    func dismiss(_ lane: Lane) { scheduler.leave(Self.nowhere, lane.share) }

    /// In the place of the index of a lane that is not in the table.
    private static let nowhere = -1

    /// - Returns: the removed lane.
    func remove(_ key: DelegateKey) -> Lane? {
        guard let place = places.removeValue(forKey: key), let lane = lanes[place] else { return nil }
        ignore(lane)
        count(lane.delegate, -1)
        lanes[place] = nil
        freePlaces.append(place)
        scheduler.leave(place, lane.share)
        lane.origin.map(origins.leave)
        lane.leave()
        return lane
    }

    /// Offers the lane the events that it selects from now on.
    func listen(_ lane: Lane) {
        if lane.isLeaving { return }
        guard let detour = detour(of: lane) else {
            return scheduler.insert(lane.index, lane.delegate.settings.events, lane.share)
        }
        detour.listen(lane)
    }

    /// Offers the lane no further events. Call it before the lane ends.
    func ignore(_ lane: Lane) {
        if lane.isGone || lane.isLeaving { return }
        guard let detour = detour(of: lane) else {
            return scheduler.remove(lane.index, lane.delegate.settings.events, lane.share)
        }
        detour.ignore(lane)
    }

    // MARK: Detours

    /// The detour that a lane is on.
    func detour(of lane: Lane) -> Detour? { lane.isOnDetour ? detour(of: lane.key) : nil }

    /// The detour on which a new lane of this delegate begins if the common position applies to it.
    func detour(of key: DelegateKey) -> Detour? { detours[Shards.number(of: key)] }

    func begin(_ detour: Detour) {
        for number in detours.indices where detour.shards.contains(DelegateKey(number)) { detours[number] = detour }
    }

    /// Its lanes join the others.
    func end(_ detour: Detour) {
        for lane in all where self.detour(of: lane) === detour { join(lane) }
        for number in detours.indices where detours[number] === detour { detours[number] = nil }
    }

    /// Forgets the detours of these shards, which have no lanes any more.
    func endDetours(of shards: Shards) {
        for number in detours.indices where shards.contains(DelegateKey(number)) { detours[number] = nil }
    }

    /// Brings a lane that is at the loop's position in the log to the others.
    func join(_ lane: Lane) {
        guard lane.isOnDetour else { return }
        ignore(lane)
        lane.isOnDetour = false
        if !lane.isGone { listen(lane) }
    }

    /// Offers the lane no further events, whatever happens to its delegate: its shard is being given away.
    func stop(_ lane: Lane) {
        ignore(lane)
        lane.isLeaving = true
        lane.isOnDetour = true
    }

    /// Moves the detours between two positions to the second one: there is nothing left between them.
    func skipDetours(to position: LogPosition, from start: LogPosition = 0) {
        for case let detour? in detours where (start..<position).contains(detour.position) {
            detour.position = position
        }
    }

    /// Changes the settings of a lane's delegate. The scheduler offers it no events before `listen`.
    func change(_ lane: Lane, to delegate: WebhookDelegate) {
        ignore(lane)
        count(lane.delegate, -1)
        count(delegate, 1)
        let isElsewhere = lane.delegate.settings.url != delegate.settings.url
        lane.change(to: delegate)
        guard isElsewhere else { return }
        lane.origin.map(origins.leave)
        lane.origin = origins.join(delegate)
    }

    private func count(_ delegate: WebhookDelegate, _ change: Int) {
        if delegate.status == .active { activeDelegates += change }
    }
}
