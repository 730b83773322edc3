/// The lanes of one delivery loop, by the keys of their delegates and by their places, which the scheduler knows them by.
/// One thread.
final class LaneTable {
    /// Which of them an event concerns, and whose turn it is.
    let scheduler = FairScheduler()
    private var lanes: [Lane?] = []
    private var places: [DelegateKey: Int] = [:]
    private var freePlaces: [Int] = []
    /// Delegates of these that are told of what is posted. The others wait behind the end of the log, or are gone.
    private(set) var activeDelegates = 0

    subscript(key: DelegateKey) -> Lane? { places[key].flatMap { lanes[$0] } }

    func contains(_ key: DelegateKey) -> Bool { places[key] != nil }

    func at(_ place: Int) -> Lane? { lanes[place] }

    /// The lane whose turn it is.
    func next(_ eligible: FairScheduler.Eligible) -> Lane? { scheduler.next(eligible).flatMap { lanes[$0] } }

    /// All of them.
    var all: [Lane] { lanes.compactMap { $0 } }

    // MARK: Lanes come, change and go

    /// The lane is offered nothing before `listen`.
    func insert(_ lane: Lane) {
        let place = freePlaces.popLast() ?? lanes.count
        if place == lanes.count { lanes.append(lane) } else { lanes[place] = lane }
        lane.join(place, share: scheduler.join(lane.delegate.app))
        places[lane.key] = place
        count(lane.delegate, 1)
    }

    /// - Returns: the lane that was there.
    func remove(_ key: DelegateKey) -> Lane? {
        guard let place = places.removeValue(forKey: key), let lane = lanes[place] else { return nil }
        ignore(lane)
        count(lane.delegate, -1)
        lanes[place] = nil
        freePlaces.append(place)
        scheduler.leave(place, lane.share)
        lane.leave()
        return lane
    }

    /// The lane is offered the events that it wants from now on.
    func listen(_ lane: Lane) { scheduler.insert(lane.index, lane.delegate.settings.events, lane.share) }

    /// The lane is offered no event any more. Before it ends.
    func ignore(_ lane: Lane) {
        if !lane.isGone { scheduler.remove(lane.index, lane.delegate.settings.events, lane.share) }
    }

    /// Gives a lane the delegate's new settings. It is offered nothing before `listen`.
    func change(_ lane: Lane, to delegate: WebhookDelegate) {
        ignore(lane)
        count(lane.delegate, -1)
        count(delegate, 1)
        lane.change(to: delegate)
    }

    private func count(_ delegate: WebhookDelegate, _ change: Int) {
        if delegate.status == .active { activeDelegates += change }
    }
}
