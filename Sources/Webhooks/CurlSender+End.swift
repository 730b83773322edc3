import CCurl
public import Herald
import Runtime

extension CurlSender {
    /// Hands out what libcurl has finished.
    func collect(_ finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) -> Int {
        var count = 0
        var code: Int32 = 0
        while let easy = herald_multi_ended(multi, &code) {
            guard let pointer = herald_easy_transfer(easy) else { continue }
            let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
            let status = herald_easy_status(easy)
            herald_multi_remove(multi, easy)
            guard let callback = transfer.callback, let target = transfer.target else { continue }
            let now = Self.now()
            if status < 200, dialNext(transfer, callback, target, code, now) { continue }
            let outcome = outcome(transfer, status, code, now)
            transfer.clear()
            release(transfer)
            target.openCount -= 1
            openCount -= 1
            finished(callback.token, outcome)
            count += 1
        }
        return count
    }

    /// Hands out what ended without libcurl. What `finished` starts meanwhile waits for the next turn.
    func handOut(_ finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) -> Int {
        if ended.isEmpty { return 0 }
        var batch: [(token: Int, outcome: CallbackOutcome)] = []
        swap(&batch, &ended)
        for entry in batch { finished(entry.token, entry.outcome) }
        return batch.count
    }

    /// Tries the next address of the host when this one could not be dialled and there is time left.
    private func dialNext(
        _ transfer: Transfer, _ callback: Callback, _ target: Target, _ code: Int32, _ now: Int64
    ) -> Bool {
        guard code != HERALD_CURL_OK, transfer.refusal == nil, let pin = transfer.pin,
            code == HERALD_CURL_CONNECT || code == HERALD_CURL_TIMEOUT && herald_easy_connected(transfer.easy) == 0
        else { return false }
        target.turnAway(from: pin)
        guard case .open(let pins) = target.reach, transfer.dials < pins.count,
            now - transfer.startedAt < Self.time(for: target) - 10_000_000
        else { return false }
        dial(transfer, callback, target, pins[target.preferred % pins.count], now)
        return true
    }

    private func outcome(_ transfer: Transfer, _ status: Int, _ code: Int32, _ now: Int64) -> CallbackOutcome {
        let duration = (now - transfer.startedAt) / 1000
        guard status >= 200 else {
            return CallbackOutcome(verdict: CurlResult.verdict(code, status: status, transfer), duration: duration)
        }
        // The status line is the verdict, whatever became of the rest.
        let retryAfter = transfer.retryAfter.flatMap { RetryAfter.parse($0, now: clock.wall() / 1000) }
        return CallbackOutcome(
            verdict: .answered(status: status, retryAfter: retryAfter), duration: duration, excerpt: transfer.excerpt)
    }

    func release(_ transfer: Transfer) {
        transfer.clear()
        pool.put(transfer)
    }

    /// Ends a callback that was counted as open.
    func endOpen(_ callback: Callback, _ target: Target, _ verdict: CallbackOutcome.Verdict, startedAt: Int64) {
        target.openCount -= 1
        openCount -= 1
        end(callback, verdict, startedAt: startedAt)
    }

    func end(_ callback: Callback, _ verdict: CallbackOutcome.Verdict, startedAt: Int64) {
        let duration = (Self.now() - startedAt) / 1000
        ended.append((callback.token, CallbackOutcome(verdict: verdict, duration: duration)))
    }

    public func close(finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) {
        guard !isClosed else { return }
        isClosed = true
        let now = Self.now()
        func stop(_ callback: Callback, _ startedAt: Int64) {
            let verdict = CallbackOutcome.Verdict.failed(.stopped, detail: "Herald stopped before an answer came")
            finished(callback.token, CallbackOutcome(verdict: verdict, duration: (now - startedAt) / 1000))
        }
        for entry in ended { finished(entry.token, entry.outcome) }
        for waiting in lookups.values.joined() { stop(waiting.callback, waiting.startedAt) }
        for transfer in pool.all {
            guard let callback = transfer.callback else { continue }
            herald_multi_remove(multi, transfer.easy)
            stop(callback, transfer.startedAt)
        }
        ended = []
        lookups = [:]
        targets = [:]
        // Handles first, then the connections that they left in the multi handle.
        pool = TransferPool()
        curl_multi_cleanup(multi)
    }
}
