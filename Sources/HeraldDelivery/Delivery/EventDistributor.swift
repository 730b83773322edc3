import HeraldModel
import HeraldRuntime

/// Brings new events to the lanes of a delivery loop and pages of the log to the lanes that wait for them, and handles
/// events that were removed from the log. Confined to one thread.
final class EventDistributor: LoopPart {
    /// How often missed deliveries of one delegate are announced, in nanoseconds.
    private static let interval: Int64 = 60_000_000_000
    /// The steps of content filters for the events of one removal: 25 ms of processor time. Events beyond them count as wanted.
    static let maxTrimSteps = 1_000_000
    /// Waits for pages in place of the lanes on a detour. No delegate has this key.
    static let detourKey: DelegateKey = 0

    private let starter: AttemptStarter
    /// Delegates whose missed deliveries were announced within the last minute.
    private var missed: [DelegateKey: Missed] = [:]

    init(_ loop: LoopParts, starter: AttemptStarter) {
        self.starter = starter
        super.init(loop)
    }

    // MARK: New events

    /// - Parameters:
    ///   - head: the last event to route.
    ///   - limit: the maximum number of events.
    /// - Returns: whether `head` or the end of the log was reached, or the next events must come from a page of the store.
    func routeNewEvents(through head: LogPosition, limit: Int) -> Bool {
        let count = min(head - log.routed, LogPosition(limit))
        guard count > 0, let batch = log.news(limit: Int(count)) else { return true }
        route(batch)
        return batch.events.count < limit
    }

    private func route(_ batch: EventBatch) {
        let watches = log.watches(of: batch)
        for event in batch.events {
            let sequence = log.route(event)
            if let audience = event.audience {
                if let lane = lanes[audience], !lane.isOnDetour { starter.offer(event, sequence, to: lane) }
                continue
            }
            let matching = lanes.scheduler.lanes(for: event)
            if !watches.isEmpty, let watch = watches[sequence] {
                expect(event, sequence, matching.any + matching.named, watch)
            }
            for place in matching.any { offer(event, sequence, place) }
            for place in matching.named { offer(event, sequence, place) }
        }
        ledger.routed(to: log.routed)
    }

    /// Offers the next event of a detour to the lanes on it.
    func route(_ event: Event, _ detour: Detour) {
        guard let audience = event.audience else {
            for place in detour.lanes(for: event) { offer(event, detour.position, place) }
            return
        }
        guard let lane = lanes[audience], lanes.detour(of: lane) === detour else { return }
        starter.offer(event, detour.position, to: lane)
    }

    private func offer(_ event: Event, _ sequence: LogPosition, _ place: Int) {
        if let lane = lanes.at(place) { starter.offer(event, sequence, to: lane) }
    }

    /// Adds the deliveries of this event to active delegates to the watch of a publisher, and those that are not decided yet.
    private func expect(_ event: Event, _ sequence: LogPosition, _ matching: [Int], _ watch: DeliveryWatch) {
        if watch.isOver { return }
        var count = 0
        for place in matching {
            guard let lane = lanes.at(place), lane.isActive, !lane.isFailing else { continue }
            // A filter beyond the steps of this turn decides in the turn of its lane, which withdraws what it does not want.
            if starter.mayRead(lane), !lane.isWanted(event, sequence, isRouted: true, { log.view(of: event) }) {
                continue
            }
            awaited.expect(DeliveryKey(delegate: lane.key, event: sequence), watch)
            count += 1
        }
        watch.routed(to: count)
        if watch.isOver { awaited.expire(watch) }
    }

    // MARK: Pages

    /// Called with the page after a position; `nil` if it could not be read.
    func pageArrived(after: LogPosition, _ page: EventBatch?) {
        guard let page = log.accept(page, after: after) else { return }
        if let first = log.firstToRoute(in: page, after: after) {
            if first > log.routed + 1 {
                // Only events that no lane needs are removed.
                for lane in lanes.all { skip(lane, log.routed + 1..<first) }
                log.skip(to: first - 1)
            }
            route(page)
        }
        for key in log.keep(page, after: after) {
            // Skips events that are no longer in the log. Events newer than the page are in memory.
            let first = page.events.isEmpty ? log.firstRecent : page.first
            if key == Self.detourKey, first > after + 1 { lanes.skipDetours(to: first - 1, from: after) }
            guard let lane = lanes[key] else { continue }
            if first > after + 1 { skip(lane, after + 1..<first) }
            starter.enqueue(lane)
        }
    }

    /// Passes positions that retention has removed because no lane needed them.
    private func skip(_ lane: Lane, _ gap: Range<LogPosition>) {
        if lane.skip(gap) { ledger.touched(lane) }
        starter.endReplays(lane)
        // Deliveries that were requested again while their events were being removed.
        let rows = lane.rows.keys.filter(gap.contains)
        let dropped = rows.count { drop($0, of: lane) }
        record(missed: dropped, of: lane.key, .size)
    }

    // MARK: Trimming

    /// Called before retention removes all events up to this one.
    /// - Parameter gone: those that are left, ascending.
    func trim(through last: LogPosition, gone: [LoggedEvent], _ cause: Removal.Cause) {
        let filterLimit = log.filterSteps + Self.maxTrimSteps
        let counts = missedEvents(gone, filterLimit)
        lanes.skipDetours(to: last)
        for lane in lanes.all {
            trim(lane, through: last, gone: gone, missed: counts[lane.index] ?? 0, cause, filterLimit)
        }
    }

    /// Number of these events that each lane wanted and had not reached, at most. The cost depends on the number of matching
    /// lanes, as with new events.
    /// - Parameter filterLimit: events that filters would examine beyond so many steps of the log count as wanted.
    private func missedEvents(_ gone: [LoggedEvent], _ filterLimit: Int) -> [Int: Int] {
        var counts: [Int: Int] = [:]
        for logged in gone {
            let event = logged.event
            let matching = event.audience == nil ? lanes.scheduler.lanes(for: event) : (any: [], named: [])
            let found = (matching.any + matching.named).compactMap(lanes.at)
            for lane in found + [event.audience.flatMap { lanes[$0] }].compactMap({ $0 })
            where lane.misses(
                event, logged.sequence, isRouted: event.audience == nil,
                { log.view(of: event, untilSteps: filterLimit) })
            {
                counts[lane.index, default: 0] += 1
            }
        }
        return counts
    }

    /// - Parameter missed: the number of events in `gone` that the lane wanted and had not reached.
    private func trim(
        _ lane: Lane, through last: LogPosition, gone: [LoggedEvent], missed: Int, _ cause: Removal.Cause,
        _ filterLimit: Int
    ) {
        var missed = missed
        if lane.trim(through: last) { ledger.touched(lane) }
        starter.endReplays(lane)
        let rows = lane.rows.keys.filter { $0 <= last }.sorted()
        for event in rows {
            let wasWanted = stillWants(event, gone, lane, filterLimit)
            if drop(event, of: lane), wasWanted { missed += 1 }
        }
        lane.waiting.end(through: last)
        if lane.waiting.isCrowded { ledger.touched(lane) }
        record(missed: missed, of: lane.key, cause)
        starter.enqueue(lane)
    }

    /// Ends a delivery that has a row.
    private func drop(_ event: LogPosition, of lane: Lane) -> Bool {
        guard lane.waiting.drop(event) != nil else { return false }
        ledger.touched(lane)
        timers.forget(1, lanes)
        let key = DeliveryKey(delegate: lane.key, event: event)
        ledger.end(key)
        awaited.withdraw(key)
        return true
    }

    /// Whether a waiting delivery would have been made.
    private func stillWants(
        _ sequence: LogPosition, _ gone: [LoggedEvent], _ lane: Lane, _ filterLimit: Int
    ) -> Bool {
        let index = gone.firstIndex(ascending: { $0.sequence >= sequence })
        guard index < gone.count, gone[index].sequence == sequence else { return true }
        let event = gone[index].event
        return lane.stillWants(event, sequence) { log.view(of: event, untilSteps: filterLimit) }
    }

    /// Counts missed deliveries. Announces them at most once a minute per delegate: when the log is full, each new event
    /// removes another.
    func record(missed count: Int, of key: DelegateKey, _ cause: Removal.Cause) {
        guard count > 0 else { return }
        counters.missed(count)
        ledger.missed(Removal(.deliveries, cause, count: count))
        let isAnnounced = missed[key] != nil
        missed[key, default: Missed()].add(count)
        if isAnnounced { ledger.unannounced(missed[key]?.pending ?? 0, of: key) } else { announceMissed(of: key) }
    }

    private func announceMissed(of key: DelegateKey) {
        guard let count = missed[key]?.pending, let total = missed[key]?.total else { return }
        missed[key]?.pending = 0
        ledger.unannounced(0, of: key)
        ledger.record(key, .fellBehind(events: count, total: total))
        timers.insert(.tellMissed(key), due: timers.now + Self.interval)
    }

    /// Announces what was not announced before the process ended.
    func restore(unannounced count: Int, of key: DelegateKey) {
        guard count > 0 else { return }
        missed[key, default: Missed()].add(count)
        announceMissed(of: key)
    }

    /// A minute after an announcement: what was missed since is announced; if nothing was, the series has ended.
    func tellMissed(_ key: DelegateKey) {
        if missed[key]?.pending ?? 0 > 0 { announceMissed(of: key) } else { missed[key] = nil }
    }

    /// Announces the counts that still wait for their minute, so that every missed delivery is announced.
    func announceMissed() {
        for (key, missed) in missed where missed.pending > 0 { announceMissed(of: key) }
    }

    /// Called when the lane has been removed.
    func forget(_ key: DelegateKey) { missed[key] = nil }
}

/// The missed deliveries of a delegate in a series of announcements. The newest announcement of a series has its total: while the
/// log is full, the events that announce the earlier ones are themselves removed.
private struct Missed {
    /// Not announced yet.
    var pending = 0
    private(set) var total = 0

    mutating func add(_ count: Int) {
        pending += count
        total += count
    }
}
