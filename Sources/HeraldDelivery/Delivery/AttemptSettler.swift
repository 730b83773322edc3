import HeraldModel

/// Settles the finished attempts of a delivery loop: decides what happens to the delivery, and updates what Herald
/// knows about the receiver. Confined to one thread.
final class AttemptSettler: LoopPart {
    private let starter: AttemptStarter
    private let keeper: LaneKeeper
    /// In the range 0..<1.
    private let random: () -> Double

    init(_ loop: LoopParts, starter: AttemptStarter, keeper: LaneKeeper, random: @escaping () -> Double) {
        self.starter = starter
        self.keeper = keeper
        self.random = random
        super.init(loop)
    }

    func finished(_ callback: OpenCallback, _ origin: Lane.Origin, _ outcome: CallbackOutcome) {
        guard let start = callback.start, !callback.lane.isDisowned else { return }
        if case .failed(.stopped, _) = outcome.verdict { return comeBack(to: callback, origin, start) }
        ledger.add(AttemptRecord(callback, outcome), of: callback.event, succeeded: outcome.isSuccess)
        counters.count(outcome, trace: callback.span?.context)
        callback.endSpan(outcome, starter.tracer)

        let lane = callback.lane
        guard !lane.isRemoved else { return }
        if !outcome.isStale { awaited.report(callback.key, lane.delegate, callback.event, outcome) }
        let end = Lane.End(
            sequence: callback.sequence, origin: origin, subject: callback.event.subject, type: callback.event.type,
            attempts: callback.attempts, outcome: outcome, isEnded: hasEnded(callback),
            isRequested: callback.requested == .redelivery && !lane.givenUp.contains(callback.sequence), start: start,
            now: timers.now, wall: timers.wall,
            random: outcome.isSuccess ? 0 : random(),
            reserve: { [keeper] in keeper.reserveProbe($0, of: $1) })
        let isOutdated = lane.flow.isOutdated(start)
        if let window = start.originWindow, !isOutdated, outcome.isEvidence, outcome.meaning.isAnswer, !start.isRefused
        {
            lane.origin?.answered(isRejection: outcome.meaning == .rejection, window: window, now: timers.now)
        }
        let knew = lane.flow.refused.contains(end.type)
        // A success of a retry removes its row, which then has the plan of a redelivery that was requested during the attempt.
        let again = callback.requested == .redelivery ? lane.rows[callback.sequence] : nil
        let (settlement, change) = lane.finished(end)
        if !knew, lane.mayAnnounceRefusal(of: end.type, now: timers.now) {
            ledger.record(lane.key, .refusing(type: end.type, reason: outcome.reason))
        }
        keeper.count(change)
        write(settlement, callback, origin)
        if case .delivered = settlement, let again, lane.rows[callback.sequence] == nil { redeliver(callback, again) }
        starter.endReplays(lane)
        // A lane whose deliveries have ended would get a position in the log again.
        if !isOutdated, !lane.isGone { react(to: change, outcome, lane) }
        ledger.touched(lane)
        starter.enqueue(lane)
    }

    /// Whether the event was erased, or the delivery cancelled, during the attempt.
    private func hasEnded(_ callback: OpenCallback) -> Bool {
        log.hasErased(callback.sequence)
            || callback.requested == .cancellation && callback.lane.rows[callback.sequence] == nil
    }

    /// Makes a delivery once more, as if the request had arrived after the attempt.
    private func redeliver(_ callback: OpenCallback, _ row: WaitingDeliveries.Row) {
        let key = callback.key
        keeper.redeliver(
            WaitingDelivery(
                delegate: key.delegate, event: key.event, attempts: 0, dueAt: timers.wall, state: .retrying,
                isReplay: true,
                isNamed: row.isNamed, subject: callback.event.subject), callback.lane)
    }

    /// Adds the settlement of the delivery to the checkpoint.
    private func write(_ settlement: Lane.Settlement, _ callback: OpenCallback, _ origin: Lane.Origin) {
        let key = callback.key
        // The delivery may have been requested again while the attempt was open.
        let row = callback.lane.rows[key.event]
        let (isReplay, isNamed) = (row?.isReplay ?? callback.isReplay, row?.isNamed ?? false)
        let wasGivenUp = callback.lane.takeGivenUp(key.event)
        switch settlement {
        case .superseded: ledger.becameFirst(callback.lane, key.event)
        case .delivered:
            // A replay, or the lane after one, may have made a delivery that was given up before, and has its row in the store. That of a
            // redelivery requested since the start may be only there, and waits.
            let mayHaveEnded = callback.requested == .redelivery ? origin == .retry : origin != .log
            if row == nil, mayHaveEnded || wasGivenUp || callback.requested == .cancellation { ledger.end(key) }
        case .retry(let delay, let attempts, let turn):
            timers.insert(
                .retry(Retry(delegate: key.delegate, event: key.event, turn: turn)), due: timers.now + delay)
            ledger.wait(
                callback.lane, key.event, attempts: attempts, uncounted: row?.uncounted ?? 0,
                dueAt: timers.wall + delay / 1_000_000, isReplay: isReplay, isNamed: isNamed)
        case .exhausted(let attempts, let uncounted):
            counters.exhausted()
            ledger.giveUp(
                key, of: callback.lane, attempts: attempts, uncounted: uncounted, .exhausted, at: timers.wall,
                isReplay: callback.isReplay)
            // Failures of service events publish no further service events.
            guard !ServiceFamily.isOne(callback.event.type) else { return }
            ledger.record(
                key.delegate,
                .exhausted(
                    event: key.event, eventID: callback.event.id, eventType: callback.event.type, attempts: attempts,
                    traceParent: callback.event.traceParent))
        case .held:
            ledger.wait(
                callback.lane, key.event, attempts: row?.attempts ?? callback.attempts + 1,
                uncounted: row?.uncounted ?? 1, dueAt: timers.wall, isReplay: isReplay, isNamed: isNamed)
        case .dropped(let attempts):
            // The erasure removes the row itself, and counts it.
            if log.hasErased(key.event) { return }
            // Retention has ended the row of this retry, and may have removed the event since: nothing would remove another row.
            if origin == .retry, key.event <= callback.lane.trimmed { return ledger.end(key) }
            ledger.giveUp(
                key, of: callback.lane, attempts: attempts, .dropped, at: timers.wall, isReplay: callback.isReplay)
        }
    }

    /// Updates the delegate's status after an attempt changed its breaker.
    private func react(to change: Breaker.Change, _ outcome: CallbackOutcome, _ lane: Lane) {
        if outcome.isGone {
            keeper.halt(lane)
            return ledger.record(lane, .gone)
        }
        if outcome.control == .disable, !lane.isHalted {
            keeper.halt(lane)
            return ledger.record(lane, .disabled(reason: Reason.disabledByReceiver()))
        }
        switch change {
        case .none, .stayedOpen: break
        case .opened:
            if let since = lane.flow.breaker.outage?.since {
                ledger.record(lane, .failing(since: since, reason: outcome.reason))
            }
        case .closed: ledger.record(lane, .recovered)
        case .lost:
            guard !lane.isHalted else { return }
            keeper.halt(lane)
            let limit = lane.delegate.settings.disableAfterSeconds
            ledger.record(lane, .disabled(reason: Reason.failedTooLong("\(limit)", outcome.reason)))
        }
    }

    /// Handles a request that was never sent, which does not count as an attempt. If the loop is stopping, the delivery
    /// is made after the restart. Otherwise the sender lacked memory or descriptors: the delivery waits for a short
    /// pause and keeps its attempt count. If no other request of the lane is open, the lane waits, too: otherwise each of its
    /// events would be tried, and get a row, at once.
    private func comeBack(to callback: OpenCallback, _ origin: Lane.Origin, _ start: FlowControl.Start) {
        let lane = callback.lane
        guard !starter.isStopping, !lane.isRemoved else { return }
        let turn = lane.returned(
            callback.sequence, origin, subject: callback.event.subject,
            isEnded: hasEnded(callback), start: start)
        if let turn {
            let retry = Retry(delegate: lane.key, event: callback.sequence, turn: turn)
            timers.insert(.retry(retry), due: timers.now + LoopTimers.pause)
            if lane.open == 0 { lane.flow.wait(until: timers.now + LoopTimers.pause) }
            let row = lane.rows[callback.sequence]
            ledger.wait(
                lane, callback.sequence, attempts: row?.attempts ?? callback.attempts, uncounted: row?.uncounted ?? 0,
                dueAt: timers.exactWall, isReplay: row?.isReplay ?? callback.isReplay, isNamed: row?.isNamed ?? false)
        }
        starter.endReplays(lane)
        ledger.touched(lane)
        starter.enqueue(lane)
    }
}

extension CallbackOutcome {
    /// The reason for the failure, in words.
    var reason: String {
        switch verdict {
        case .answered(let status, _): Reason.responded("\(status)")
        case .failed(let failure, let detail):
            detail.isEmpty ? failure.words : Reason.failed(failure.words, detail)
        }
    }
}

extension AttemptRecord {
    fileprivate init(_ callback: OpenCallback, _ outcome: CallbackOutcome) {
        let (status, failure, detail) = outcome.verdict.parts
        self.init(
            delegate: callback.lane.key, event: callback.sequence, number: callback.attempts + 1,
            startedAt: callback.startedAt, duration: outcome.duration, status: status, failure: failure,
            detail: detail, excerpt: outcome.excerpt)
        isReplay = callback.isReplay
        transport = outcome.transport
    }
}
