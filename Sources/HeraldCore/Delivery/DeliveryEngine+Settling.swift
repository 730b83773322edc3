import HeraldRuntime

/// Attempts end.
extension DeliveryEngine {
    /// A request has ended.
    func finished(_ token: Int, _ outcome: CallbackOutcome) {
        guard transfers.indices.contains(token), let transfer = transfers[token] else { return }
        transfers[token] = nil
        freeTransfers.append(token)
        apps.ended(transfer.share)
        if slots.end(token), lanes[transfer.lane]?.delegate.key == transfer.delegate {
            lanes[transfer.lane]?.flow.held -= 1
        }
        now = ports.clock.monotonic()
        switch transfer.purpose {
        case .delivery(let origin): finished(transfer, origin, outcome)
        case .test(let answer): answer(outcome)
        case .verification(let challenge, let url): verified(transfer, challenge, url, outcome)
        }
    }

    private func finished(_ transfer: OpenCallback, _ origin: Lane.Origin, _ outcome: CallbackOutcome) {
        guard let start = transfer.start else { return }
        if case .failed(.stopped, _) = outcome.verdict { return comeBack(to: transfer, origin, start) }
        checkpoints.add(AttemptRecord(transfer, outcome), now: now)
        counters.count(outcome)
        if statisticsDue == nil { statisticsDue = now + Self.statisticsInterval }
        board.count(transfer.delegate, succeeded: outcome.isSuccess, duration: outcome.duration, at: wall)

        let index = transfer.lane
        guard let delegate = lanes[index]?.delegate, delegate.key == transfer.delegate else { return }
        if !watched.isEmpty, let watch = watched.removeValue(forKey: transfer.key) {
            watch.report(.init(delegate: delegate, event: transfer.event, outcome: outcome))
        }
        let end = Lane.End(
            sequence: transfer.sequence, origin: origin, subject: transfer.event.subject, attempts: transfer.attempts,
            outcome: outcome, start: start, now: now, wall: wall, random: outcome.isSuccess ? 0 : ports.random(),
            reserve: { [self] in probes.reserve($0, now: now) })
        guard let (settlement, change) = lanes[index]?.finished(end) else { return }
        if change == .opened { probes.openLanes += 1 }
        if case .closed = change { probes.openLanes -= 1 }
        write(settlement, transfer, origin, wall)
        endReplays(index)
        react(to: change, outcome, lane: index, delegate)
        touched(index)
        enqueue(index)
    }

    /// What became of the delivery goes into the checkpoint.
    private func write(
        _ settlement: Lane.Settlement, _ transfer: OpenCallback, _ origin: Lane.Origin, _ wall: Int64
    ) {
        let key = transfer.key
        // It may have been asked for again since it began.
        let row = lanes[transfer.lane]?.waiting[key.event]
        let (isReplay, isNamed) = (row?.isReplay ?? transfer.isReplay, row?.isNamed ?? false)
        switch settlement {
        case .superseded: break
        case .delivered:
            if origin == .retry { checkpoints.end(key, now: now) }
        case .retry(let delay, let attempts, let turn):
            timers.insert(
                .retry(Retry(delegate: key.delegate, event: key.event, turn: turn)), due: now + delay)
            checkpoints.wait(
                key, attempts: attempts, dueAt: wall + delay / 1_000_000, isReplay: isReplay, isNamed: isNamed, now: now
            )
        case .exhausted(let attempts):
            counters.exhausted()
            checkpoints.giveUp(key, attempts: attempts, .exhausted, at: wall, isReplay: transfer.isReplay, now: now)
            // What the service says of itself is not followed up by more of it.
            guard !ServiceFamily.isOne(transfer.event.type) else { return }
            checkpoints.note(
                DeliveryNotice(
                    key.delegate,
                    .exhausted(
                        event: key.event, eventID: transfer.event.id, eventType: transfer.event.type,
                        attempts: attempts, traceParent: transfer.event.traceParent)), now: now)
        case .held:
            if origin != .retry {
                checkpoints.wait(key, attempts: transfer.attempts, dueAt: wall, isReplay: isReplay, now: now)
            }
        case .dropped(let attempts):
            checkpoints.giveUp(key, attempts: attempts, .dropped, at: wall, isReplay: transfer.isReplay, now: now)
        }
    }

    /// What an attempt says of its delegate as a whole.
    private func react(
        to change: Breaker.Change, _ outcome: CallbackOutcome, lane index: Int, _ delegate: WebhookDelegate
    ) {
        func note(_ kind: DeliveryNotice.Kind) { checkpoints.note(DeliveryNotice(delegate.key, kind), now: now) }
        if outcome.isGone, let lane = lanes[index], !lane.isGone {
            apps.remove(index, delegate.settings.events, lane.share)
            end(index)
            return note(.gone)
        }
        if outcome.control == .disable, lanes[index]?.isHalted == false {
            halt(index)
            return note(.disabled(reason: "the receiver asked for it by the header webhook-delivery: disable"))
        }
        switch change {
        case .none, .stayedOpen: break
        case .opened:
            if let since = lanes[index]?.flow.breaker.outage?.since {
                note(.failing(since: since, reason: outcome.reason))
            }
        case .closed: note(.recovered)
        case .lost:
            guard lanes[index]?.isHalted == false else { return }
            halt(index)
            let limit = delegate.settings.disableAfterSeconds
            note(
                .disabled(reason: "it failed for \(limit) s (disable_after_seconds); the last time: \(outcome.reason)"))
        }
    }

    private func halt(_ index: Int) {
        lanes[index]?.isHalted = true
        pauseOrResume(index)
    }

    /// It was no attempt: nothing was sent. When the loop stops, the restart delivers; else the sender lacked memory or
    /// descriptors, and the delivery waits a moment with the attempts it had.
    private func comeBack(to transfer: OpenCallback, _ origin: Lane.Origin, _ start: FlowControl.Start) {
        guard !isStopping, lanes[transfer.lane]?.delegate.key == transfer.delegate else { return }
        if let turn = lanes[transfer.lane]?.returned(
            transfer.sequence, origin, subject: transfer.event.subject, start: start)
        {
            let retry = Retry(delegate: transfer.delegate, event: transfer.sequence, turn: turn)
            timers.insert(.retry(retry), due: now + Self.pause)
            let row = lanes[transfer.lane]?.waiting[transfer.sequence]
            checkpoints.wait(
                transfer.key, attempts: row?.attempts ?? transfer.attempts, dueAt: ports.clock.wall(),
                isReplay: row?.isReplay ?? transfer.isReplay, isNamed: row?.isNamed ?? false, now: now)
        }
        endReplays(transfer.lane)
        touched(transfer.lane)
        enqueue(transfer.lane)
    }
}

extension CallbackOutcome {
    /// Why it was no success, in words.
    var reason: String {
        switch verdict {
        case .answered(let status, _): "status \(status)"
        case .failed(let failure, let detail): detail.isEmpty ? failure.rawValue : detail
        }
    }
}

extension AttemptRecord {
    fileprivate init(_ transfer: DeliveryEngine.OpenCallback, _ outcome: CallbackOutcome) {
        var status: Int?
        var failure: CallbackFailure?
        var detail = ""
        switch outcome.verdict {
        case .answered(let code, _): status = code
        case .failed(let reason, let words):
            failure = reason
            detail = words
        }
        self.init(
            delegate: transfer.delegate, event: transfer.sequence, number: transfer.attempts + 1,
            startedAt: transfer.startedAt, duration: outcome.duration, status: status, failure: failure,
            detail: detail, excerpt: outcome.excerpt)
        isReplay = transfer.isReplay
        transport = outcome.transport
    }
}
