import HeraldRuntime

/// New events find their lanes; pages of the log find who waits for them.
extension DeliveryEngine {
    /// Returns whether the end of the log was reached, or only a page from the store can bring the next events.
    func routeNewEvents() -> Bool {
        guard !isStopping else { return true }
        switch ports.recentEvents.slice(after: routed, limit: Self.turnBudget) {
        case .end: return true
        case .events(let batch):
            route(batch)
            return batch.events.count < Self.turnBudget
        case .gone(let first):
            tailBegins = first
            if routingWaitsForPage { return true }
            // After a restart, or when this loop was slower than the tail is long: the store has them.
            routingWaitsForPage = true
            ports.readPage(routed)
            return true
        }
    }

    func route(_ batch: EventBatch) {
        for (offset, event) in batch.events.enumerated() {
            let sequence = batch.first + LogPosition(offset)
            recent.append(event)
            routed = sequence
            if let audience = event.audience {
                if let index = indices[audience] { offer(event, sequence, to: index) }
                continue
            }
            let matching = apps.lanes(for: event)
            if let watch = event.watch { expect(event, sequence, matching.any + matching.named, watch) }
            for index in matching.any { offer(event, sequence, to: index) }
            for index in matching.named { offer(event, sequence, to: index) }
        }
        checkpoints.routed(to: routed, now: now)
    }

    func offer(_ event: Event, _ sequence: LogPosition, to index: Int) {
        // Lanes are changed in place: taking one out of the array would copy its arrays.
        guard lanes[index]?.next == nil, lanes[index]?.isGone == false,
            lanes[index]?.wants(event, sequence, isRouted: event.audience == nil, { view(of: event) }) == true
        else {
            return
        }
        if lanes[index]?.held.isEmpty == true,
            lanes[index]?.ask({ $0.mayStart(now: now) && $0.mayTakeNewEvent }) == true, hasRoomBesidesLine,
            mayHaveSlot(index), !slots.isBusyWithUnproven || isProven(index)
        {
            start(event, sequence, lane: index)
        } else {
            lanes[index]?.fallBehind(from: sequence)
            touched(index)
            enqueue(index)
        }
    }

    /// The page after a position was read; `nil` when it could not be.
    func pageArrived(after: LogPosition, _ page: EventBatch?) {
        now = ports.clock.monotonic()
        guard let page = page.map(erased.applied(to:)) else {
            timers.insert(.readAgain(after: after), due: now + Self.pause)
            return
        }
        if routingWaitsForPage && after == routed {
            routingWaitsForPage = false
            // Retention may have removed what lay between, or all that lay before the tail.
            let first = page.events.isEmpty ? tailBegins : page.first
            if first > routed + 1 {
                // Lanes that are caught up have missed these like the others.
                for index in lanes.indices where lanes[index]?.isGone == false {
                    lanes[index]?.fallBehind(from: routed + 1)
                    trim(index, first: first)
                }
                recent.reset(after: first - 1)
                routed = first - 1
            }
            route(page)
        }
        let (delegates, readNext) = pages.arrived(after: after, page)
        if let readNext { ports.readPage(readNext) }
        for key in delegates {
            guard let index = indices[key] else { continue }
            skipMissing(index, after: after, page)
            enqueue(index)
        }
    }

    /// Events that are no longer in the log are passed over.
    func skipMissing(_ index: Int, after: LogPosition, _ page: EventBatch) {
        // What came since the page was read is among the recent ones.
        let firstThere = page.events.isEmpty ? recent.first : page.first
        guard firstThere > after + 1 else { return }
        trim(index, first: firstThere)
    }

    // MARK: What falls off the end of the log

    /// The log begins here now.
    /// - Parameter gone: what was cut off, as far as a lane had still to come to it.
    func trim(first: LogPosition, gone: EventBatch) {
        now = ports.clock.monotonic()
        let counts = missedEvents(gone)
        for index in lanes.indices where lanes[index] != nil {
            trim(index, first: first, gone: gone, missed: counts[index] ?? 0)
        }
    }

    /// How many of these each lane wanted and had still to come to. As with new events, the cost follows those that match.
    private func missedEvents(_ gone: EventBatch) -> [Int: Int] {
        var counts: [Int: Int] = [:]
        for (offset, event) in gone.events.enumerated() {
            let sequence = gone.first + LogPosition(offset)
            let matching = event.audience == nil ? apps.lanes(for: event) : (any: [], named: [])
            let addressed = event.audience.flatMap { indices[$0] }
            for index in matching.any + matching.named + (addressed.map { [$0] } ?? [])
            where lanes[index]?.ask({ $0.misses(event, sequence, isRouted: event.audience == nil, { view(of: event) }) }
            ) == true {
                counts[index, default: 0] += 1
            }
        }
        return counts
    }

    /// - Parameter missed: of `gone`, how many the lane had still to come to.
    private func trim(
        _ index: Int, first: LogPosition, gone: EventBatch = EventBatch(first: 0, events: []), missed: Int = 0
    ) {
        guard let key = lanes[index]?.delegate.key, let app = lanes[index]?.delegate.app else { return }
        var missed = missed
        if let start = lanes[index]?.trim(first: first) {
            // What nobody has seen any more, as after a crash: of `default` each place counts as an event, to other apps
            // their number would tell of what is not theirs.
            let end = gone.events.isEmpty ? first : min(first, gone.first)
            if app == .default, start < end { missed += Int(end - start) }
            touched(index)
        }
        endReplays(index)
        for event in (lanes[index]?.waiting.keys.filter { $0 < first } ?? []).sorted() {
            let wasWanted = stillWants(event, gone, lane: index)
            guard lanes[index]?.drop(event) == true else { continue }
            checkpoints.end(DeliveryKey(delegate: key, event: event), now: now)
            withdraw(DeliveryKey(delegate: key, event: event))
            if wasWanted { missed += 1 }
        }
        note(missed: missed, of: key)
        enqueue(index)
    }

    /// Whether a delivery that waited would have been made.
    private func stillWants(_ sequence: LogPosition, _ gone: EventBatch, lane index: Int) -> Bool {
        guard gone.first <= sequence, sequence <= gone.last else { return true }
        return stillWants(gone.events[Int(sequence - gone.first)], sequence, lane: index)
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
        checkpoints.note(DeliveryNotice(key, .fellBehind(events: count)), now: now)
        timers.insert(.tellMissed(key), due: now + Self.hour)
    }

    func tellMissed(_ key: DelegateKey) {
        guard let pending = missed.removeValue(forKey: key), pending > 0 else { return }
        announce(missed: pending, of: key)
    }

    /// Announces what would wait for its hour, so that all that was counted is announced.
    func announceMissed() {
        for (key, pending) in missed where pending > 0 { announce(missed: pending, of: key) }
    }

    private static let hour: Int64 = 3_600_000_000_000

    // MARK: Who waits for the outcome

    /// Somebody waits until the active delegates that this event concerns have been told.
    private func expect(_ event: Event, _ sequence: LogPosition, _ matching: [Int], _ watch: DeliveryWatch) {
        var count = 0
        for index in matching {
            guard let lane = lanes[index], lane.isActive, !lane.isFailing,
                lane.isWanted(event, sequence, isRouted: true, { view(of: event) })
            else { continue }
            watched[DeliveryKey(delegate: lane.delegate.key, event: sequence)] = watch
            count += 1
        }
        watch.routed(to: count)
    }

    /// Nothing is told for now: who waits for a delivery that is not under way waits no longer.
    func withdrawUnopened(_ lane: Lane) {
        let key = lane.delegate.key
        withdraw {
            $0.delegate == key && !lane.inFlight.contains($0.event) && lane.waiting[$0.event]?.isOpen != true
        }
    }

    func withdraw(_ key: DeliveryKey) { watched.removeValue(forKey: key)?.withdraw() }

    func withdraw(where isOver: (DeliveryKey) -> Bool) {
        for key in watched.keys where isOver(key) { withdraw(key) }
    }

    func expire(_ watch: DeliveryWatch) {
        watched = watched.filter { $0.value !== watch }
        watch.expire()
    }
}
