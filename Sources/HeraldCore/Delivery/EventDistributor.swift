/// Brings new events to the lanes of a delivery loop, pages of the log to those that wait for them, and tells them what has
/// fallen off the end of the log. One thread.
final class EventDistributor {
    private static let hour: Int64 = 3_600_000_000_000

    private let lanes: LaneTable
    private let log: LoopLog
    private let starter: AttemptStarter
    private let ledger: DeliveryLedger
    private let timers: LoopTimers
    private let awaited: AwaitedAttempts
    private let counters: DeliveryCounters
    /// Delegates whose missed deliveries were announced within the last hour, and how many more there were since.
    private var missed: [DelegateKey: Int] = [:]

    init(
        lanes: LaneTable, log: LoopLog, starter: AttemptStarter, ledger: DeliveryLedger, timers: LoopTimers,
        awaited: AwaitedAttempts, counters: DeliveryCounters
    ) {
        self.lanes = lanes
        self.log = log
        self.starter = starter
        self.ledger = ledger
        self.timers = timers
        self.awaited = awaited
        self.counters = counters
    }

    // MARK: New events

    /// - Parameter limit: so many at most.
    /// - Returns: whether the end of the log was reached, or only a page from the store can bring the next events.
    func routeNewEvents(limit: Int) -> Bool {
        guard let batch = log.news(limit: limit) else { return true }
        route(batch)
        return batch.events.count < limit
    }

    private func route(_ batch: EventBatch) {
        for event in batch.events {
            let sequence = log.route(event)
            if let audience = event.audience {
                if let lane = lanes[audience] { starter.offer(event, sequence, to: lane) }
                continue
            }
            let matching = lanes.scheduler.lanes(for: event)
            if let watch = event.watch { expect(event, sequence, matching.any + matching.named, watch) }
            for place in matching.any { offer(event, sequence, place) }
            for place in matching.named { offer(event, sequence, place) }
        }
        ledger.routed(to: log.routed)
    }

    private func offer(_ event: Event, _ sequence: LogPosition, _ place: Int) {
        if let lane = lanes.at(place) { starter.offer(event, sequence, to: lane) }
    }

    /// Somebody waits until the active delegates that this event concerns have been told.
    private func expect(_ event: Event, _ sequence: LogPosition, _ matching: [Int], _ watch: DeliveryWatch) {
        var count = 0
        for place in matching {
            guard let lane = lanes.at(place), lane.isActive, !lane.isFailing,
                lane.isWanted(event, sequence, isRouted: true, { log.view(of: event) })
            else { continue }
            awaited.expect(DeliveryKey(delegate: lane.key, event: sequence), watch)
            count += 1
        }
        watch.routed(to: count)
    }

    // MARK: Pages

    /// The page after a position was read; `nil` when it could not be.
    func pageArrived(after: LogPosition, _ page: EventBatch?) {
        guard let page = log.accept(page, after: after) else { return }
        if let first = log.firstToRoute(in: page, after: after) {
            if first > log.routed + 1 {
                // Lanes that are caught up have missed what retention has removed like the others.
                for lane in lanes.all {
                    if !lane.isGone { lane.fallBehind(from: log.routed + 1) }
                    trim(lane, first: first)
                }
                log.skip(to: first - 1)
            }
            route(page)
        }
        for key in log.keep(page, after: after) {
            guard let lane = lanes[key] else { continue }
            // Events that are no longer in the log are passed over. What came since the page was read is in memory.
            let first = page.events.isEmpty ? log.firstRecent : page.first
            if first > after + 1 { trim(lane, first: first) }
            starter.enqueue(lane)
        }
    }

    // MARK: What falls off the end of the log

    /// The log begins here now.
    /// - Parameter gone: what was cut off, as far as a lane had still to come to it.
    func trim(first: LogPosition, gone: EventBatch) {
        let counts = missedEvents(gone)
        for lane in lanes.all { trim(lane, first: first, gone: gone, missed: counts[lane.index] ?? 0) }
    }

    /// How many of these each lane wanted and had still to come to. As with new events, the cost follows those that match.
    private func missedEvents(_ gone: EventBatch) -> [Int: Int] {
        var counts: [Int: Int] = [:]
        for (offset, event) in gone.events.enumerated() {
            let sequence = gone.first + LogPosition(offset)
            let matching = event.audience == nil ? lanes.scheduler.lanes(for: event) : (any: [], named: [])
            let found = (matching.any + matching.named).compactMap(lanes.at)
            for lane in found + [event.audience.flatMap { lanes[$0] }].compactMap({ $0 })
            where lane.misses(event, sequence, isRouted: event.audience == nil, { log.view(of: event) }) {
                counts[lane.index, default: 0] += 1
            }
        }
        return counts
    }

    /// - Parameter missed: of `gone`, how many the lane had still to come to.
    private func trim(
        _ lane: Lane, first: LogPosition, gone: EventBatch = EventBatch(first: 0, events: []), missed: Int = 0
    ) {
        var missed = missed
        if let start = lane.trim(first: first) {
            // What nobody has seen any more, as after a crash: of `default` each place counts as an event, to other apps
            // their number would tell of what is not theirs.
            let end = gone.events.isEmpty ? first : min(first, gone.first)
            if lane.delegate.app == .default, start < end { missed += Int(end - start) }
            ledger.touched(lane)
        }
        starter.endReplays(lane)
        for event in lane.rows.keys.filter({ $0 < first }).sorted() {
            let wasWanted = stillWants(event, gone, lane)
            guard lane.drop(event) != nil else { continue }
            let key = DeliveryKey(delegate: lane.key, event: event)
            ledger.end(key)
            awaited.withdraw(key)
            if wasWanted { missed += 1 }
        }
        note(missed: missed, of: lane.key)
        starter.enqueue(lane)
    }

    /// Whether a delivery that waited would have been made.
    private func stillWants(_ sequence: LogPosition, _ gone: EventBatch, _ lane: Lane) -> Bool {
        guard gone.first <= sequence, sequence <= gone.last else { return true }
        return starter.stillWants(gone.events[Int(sequence - gone.first)], sequence, lane)
    }

    /// Counts deliveries that were missed. At most one announcement an hour for each delegate: with a full log, each new
    /// event pushes one out.
    private func note(missed count: Int, of key: DelegateKey) {
        guard count > 0 else { return }
        counters.missed(count)
        if let pending = missed[key] {
            missed[key] = pending + count
        } else {
            announce(missed: count, of: key)
        }
    }

    private func announce(missed count: Int, of key: DelegateKey) {
        missed[key] = 0
        ledger.note(key, .fellBehind(events: count))
        timers.insert(.tellMissed(key), due: timers.now + Self.hour)
    }

    func tellMissed(_ key: DelegateKey) {
        guard let pending = missed.removeValue(forKey: key), pending > 0 else { return }
        announce(missed: pending, of: key)
    }

    /// Announces what would wait for its hour, so that all that was counted is announced.
    func announceMissed() {
        for (key, pending) in missed where pending > 0 { announce(missed: pending, of: key) }
    }

    /// The lane has been removed.
    func forget(_ key: DelegateKey) { missed[key] = nil }
}
