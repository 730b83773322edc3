import Runtime

/// New events find their lanes; pages of the log find who waits for them.
extension DeliveryEngine {
    /// Returns whether the end of the log was reached, or only a page from the store can bring the next events.
    func routeNewEvents() -> Bool {
        guard !isStopping else { return true }
        switch ports.tail.slice(after: routed, limit: Self.turnBudget) {
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
            let sequence = batch.first + Sequence(offset)
            recent.append(event)
            routed = sequence
            let matching = router.lanes(for: event.type)
            for index in matching.any { offer(event, sequence, to: index) }
            for index in matching.named { offer(event, sequence, to: index) }
        }
        checkpoints.routed(to: routed, now: now)
    }

    func offer(_ event: Event, _ sequence: Sequence, to index: Int) {
        // Lanes are changed in place: taking one out of the array would copy its arrays.
        guard lanes[index]?.next == nil, lanes[index]?.wants(event, sequence) == true else { return }
        if lanes[index]?.held.isEmpty == true, lanes[index]?.mayStart(now: now) == true,
            lanes[index]?.mayTakeNewEvent == true, hasRoomBesidesLine
        {
            start(event, sequence, lane: index)
        } else {
            lanes[index]?.fallBehind(from: sequence)
            touched(index)
            enqueue(index)
        }
    }

    /// The page after a position was read; `nil` when it could not be.
    func pageArrived(after: Sequence, _ page: EventBatch?) {
        now = ports.clock.monotonic()
        guard let page else {
            timers.insert(.readAgain(after: after), due: now + Self.pause)
            return
        }
        if routingWaitsForPage && after == routed {
            routingWaitsForPage = false
            // Retention may have removed what lay between, or all that lay before the tail.
            let first = page.events.isEmpty ? tailBegins : page.first
            if first > routed + 1 {
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
    func skipMissing(_ index: Int, after: Sequence, _ page: EventBatch) {
        // What came since the page was read is among the recent ones.
        let firstThere = page.events.isEmpty ? recent.first : page.first
        guard firstThere > after + 1 else { return }
        if let next = lanes[index]?.next, next == after + 1 { lanes[index]?.pass(firstThere - 1) }
        if let retry = lanes[index]?.held.first, retry.event == after + 1 {
            _ = lanes[index]?.startHeldRetry()
            lanes[index]?.abandonRetry()
            checkpoints.end(DeliveryKey(delegate: retry.delegate, event: retry.event), now: now)
        }
    }
}
