import Runtime

/// Attempts end.
extension DeliveryEngine {
    /// An attempt has ended.
    func finished(_ token: Int, _ outcome: CallbackOutcome) {
        guard transfers.indices.contains(token), let transfer = transfers[token] else { return }
        transfers[token] = nil
        freeTransfers.append(token)
        openTransfers -= 1
        young.end(token)
        now = ports.clock.monotonic()
        if case .failed(.stopped, _) = outcome.verdict {
            comeBack(to: transfer)
            return
        }
        let record = AttemptRecord(
            transfer.attempts + 1, transfer.delegate, transfer.sequence, transfer.startedAt, outcome)
        checkpoints.add(record, now: now)
        counters.count(outcome)

        let index = transfer.lane
        guard lanes[index]?.delegate.key == transfer.delegate else { return }
        let key = transfer.key
        let health = lanes[index]?.health
        let settlement = lanes[index]?.finished(
            transfer.sequence, isRetry: transfer.isRetry, attempts: transfer.attempts, outcome: outcome, now: now,
            random: outcome.isSuccess ? 0 : ports.random())
        switch settlement {
        case .delivered:
            if transfer.isRetry { checkpoints.end(key, now: now) }
        case .retry(let delay, let attempts):
            let retry = Retry(delegate: key.delegate, event: key.event, attempts: attempts)
            timers.insert(.retry(retry), due: now + delay)
            checkpoints.wait(key, attempts: attempts, dueAt: ports.clock.wall() + delay / 1_000_000, now: now)
        case .exhausted(let attempts):
            counters.exhausted()
            checkpoints.giveUp(key, attempts: attempts, at: ports.clock.wall(), now: now)
        case .held:
            lanes[index]?.hold(Retry(delegate: key.delegate, event: key.event, attempts: transfer.attempts))
            if !transfer.isRetry {
                checkpoints.wait(key, attempts: transfer.attempts, dueAt: ports.clock.wall(), now: now)
            }
        case nil: break
        }
        if case .failing(_, let probeAt, _)? = lanes[index]?.health, health != lanes[index]?.health {
            timers.insert(.probe(transfer.delegate), due: probeAt)
        }
        touched(index)
        enqueue(index)
    }

    /// It was no attempt: nothing was sent. When the loop stops, the restart delivers; else the sender lacked memory or
    /// descriptors, and the delivery waits a moment with the attempts it had.
    private func comeBack(to transfer: Transfer) {
        guard !isStopping, lanes[transfer.lane]?.delegate.key == transfer.delegate else { return }
        lanes[transfer.lane]?.returned(transfer.sequence, isRetry: transfer.isRetry)
        let retry = Retry(delegate: transfer.delegate, event: transfer.sequence, attempts: transfer.attempts)
        timers.insert(.retry(retry), due: now + Self.pause)
        checkpoints.wait(transfer.key, attempts: transfer.attempts, dueAt: ports.clock.wall(), now: now)
        touched(transfer.lane)
        enqueue(transfer.lane)
    }
}

extension AttemptRecord {
    fileprivate init(
        _ number: Int, _ delegate: DelegateKey, _ event: Sequence, _ startedAt: Int64, _ outcome: CallbackOutcome
    ) {
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
            delegate: delegate, event: event, number: number, startedAt: startedAt, duration: outcome.duration,
            status: status, failure: failure, detail: detail, excerpt: outcome.excerpt)
    }
}
