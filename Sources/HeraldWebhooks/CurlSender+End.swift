import CHeraldCurl
package import HeraldModel
import HeraldRuntime

extension CurlSender {
    /// Reports the transfers that libcurl has finished.
    func collect(_ finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) -> Int {
        var count = collect(http1, finished)
        if let http2 { count += collect(http2, finished) }
        return count
    }

    private func collect(
        _ multi: Multi, _ finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void
    ) -> Int {
        let ended = multi.takeEnded()
        if ended.isEmpty { return 0 }
        // The same time for all transfers that ended in one turn.
        let now = Self.now()
        var count = 0
        for (easy, code) in ended {
            guard let pointer = herald_easy_transfer(easy) else { continue }
            let transfer = Unmanaged<Transfer>.fromOpaque(pointer).takeUnretainedValue()
            let status = herald_easy_status(easy)
            if multi.kind == .http2 { descriptors.carriesFrames(herald_easy_http2_socket(easy)) }
            herald_multi_remove(multi.handle, easy)
            guard let callback = transfer.callback, let target = transfer.target else { continue }
            if status < 200, dialNext(transfer, callback, target, code, now) { continue }
            if finish(transfer, callback, target, status, code, now, finished) { count += 1 }
        }
        return count
    }

    /// - Returns: whether the callback was one of the loop's.
    private func finish(
        _ transfer: Transfer, _ callback: Callback, _ target: Target, _ status: Int, _ code: Int32, _ now: Int64,
        _ finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void
    ) -> Bool {
        let outcome = outcome(transfer, callback, target, status, code, now)
        let body = callback.purpose == .token ? transfer.excerpt : []
        release(transfer)
        target.openCount -= 1
        openCount -= 1
        if callback.purpose == .token {
            tokenEnded(target, outcome.verdict, body: body, now)
            return false
        }
        finished(callback.token, outcome)
        return true
    }

    /// Reports the callbacks whose outcome is known and whose body does not end, and cuts it off.
    func endBodies(_ now: Int64, _ finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) -> Int {
        var count = 0
        for transfer in openBodies.takeOverdue(now) {
            guard let callback = transfer.callback, let target = transfer.target else { continue }
            let status = herald_easy_status(transfer.easy)
            if let multi = multi(target.multi) { herald_multi_remove(multi.handle, transfer.easy) }
            if finish(transfer, callback, target, status, HERALD_CURL_OK, now, finished) { count += 1 }
        }
        return count
    }

    /// Passes transfers that wait for a connection to libcurl again, and reports those whose time is over.
    func passAgain(_ now: Int64, _ finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) -> Int {
        var count = 0
        for transfer in waitingTransfers.takeDue(now) {
            // An earlier one of this turn may have ended it.
            guard transfer.isUnbegun, let callback = transfer.callback, let target = transfer.target,
                let multi = multi(target.multi)
            else { continue }
            let deadline = transfer.startedAt + target.timeout
            herald_multi_remove(multi.handle, transfer.easy)
            if deadline <= now {
                if finish(transfer, callback, target, 0, HERALD_CURL_TIMEOUT, now, finished) { count += 1 }
                continue
            }
            // libcurl measures from now on.
            let milliseconds = max(Int((deadline - now) / 1_000_000), 1)
            herald_easy_set_timeouts(transfer.easy, milliseconds, min(milliseconds, 5000))
            if herald_multi_add(multi.handle, transfer.easy) == 1 {
                waitingTransfers.insert(transfer, deadline: deadline, now)
                continue
            }
            let startedAt = transfer.startedAt
            release(transfer)
            endOpen(callback, target, CurlResult.notTaken, startedAt: startedAt)
        }
        return count
    }

    /// Reports the callbacks that ended without libcurl. Callbacks that `finished` starts are reported in the next
    /// turn.
    func handOut(_ finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) -> Int {
        if ended.isEmpty { return 0 }
        var batch: [(token: Int, outcome: CallbackOutcome)] = []
        swap(&batch, &ended)
        for entry in batch { finished(entry.token, entry.outcome) }
        return batch.count
    }

    /// Makes a connection if libcurl needs one, or tries again at once over a new connection if a kept one turned out to be
    /// dead before a byte of the request was sent.
    private func dialNext(
        _ transfer: Transfer, _ callback: Callback, _ target: Target, _ code: Int32, _ now: Int64
    ) -> Bool {
        if transfer.needsConnection, case .open(let pins) = target.reach {
            connect(transfer, target, pins, now)
            return true
        }
        if target.proxy != nil, code != HERALD_CURL_OK, !transfer.isOnKeptConnection, let pin = transfer.pin {
            target.avoid(pin)
        }
        guard code != HERALD_CURL_OK, transfer.refusal == nil, let pin = transfer.pin,
            now - transfer.startedAt < target.timeout - 10_000_000
        else { return false }
        if transfer.isOnKeptConnection || transfer.isRepeated {
            guard transfer.hasLostConnection(code), transfer.isUnsent else { return false }
            dial(transfer, callback, target, pin, now, isFresh: true)
            return true
        }
        return false
    }

    private func outcome(
        _ transfer: Transfer, _ callback: Callback, _ target: Target, _ status: Int, _ code: Int32, _ now: Int64
    ) -> CallbackOutcome {
        let duration = (now - transfer.startedAt) / 1000
        let transport = transfer.transport(
            isSecure: target.url.scheme == .https, isComplete: status >= 200, end: now)
        guard status >= 200, transfer.isHeadComplete else {
            report(transfer.lack, now)
            let verdict = CurlResult.verdict(code, status: status, transfer)
            var outcome = CallbackOutcome(verdict: verdict, duration: duration, transport: transport)
            outcome.isStale = transfer.hasLostConnection(code)
            return outcome
        }
        // The status decides the verdict, even if the body is incomplete.
        let answer = transfer.answer
        let retryAfter = answer.retryAfter.flatMap { RetryAfter.parse($0, now: clock.wall() / 1000) }
        var verdict = CallbackOutcome.Verdict.answered(status: status, retryAfter: retryAfter)
        let excerpt =
            transfer.excerpt.count <= Transfer.shownExcerpt
            ? transfer.excerpt : Array(transfer.excerpt.prefix(Transfer.shownExcerpt))
        if let plan = target.recipe?.plan, callback.purpose != .handshake, (200...299).contains(status),
            !plan.isSuccess(status: status, body: transfer.excerpt)
        {
            let reason = code == HERALD_CURL_TIMEOUT ? "did not end in time for" : "does not fit"
            verdict = .failed(.responseRefused, detail: "status \(status): the body \(reason) /request/success")
        }
        var outcome = CallbackOutcome(verdict: verdict, duration: duration, excerpt: excerpt, transport: transport)
        if status == 401, let tokens = target.tokens {
            outcome.isStale = tokens.refused(issued: transfer.tokenIssuedAt, before: transfer.startedAt)
        }
        outcome.control = answer.control
        // A permission for another origin does not count.
        if callback.purpose == .handshake, let origin = answer.allowedOrigin,
            origin == "*" || origin.lowercased() == configuration.origin.lowercased()
        {
            outcome.permission = .init(origin: origin, rate: answer.allowedRate)
        }
        return outcome
    }

    func release(_ transfer: Transfer) {
        transfer.closeSocket()
        if let target = transfer.target { recipeBodies.give(back: transfer.recipeBytes, of: target.delegate.app) }
        transfer.recipeBytes = 0
        transfer.clear()
        pool.put(transfer)
    }

    /// Ends a callback that is counted as open.
    func endOpen(
        _ callback: Callback, _ target: Target, _ verdict: CallbackOutcome.Verdict, startedAt: Int64,
        transport: TransportRecord = TransportRecord()
    ) {
        target.openCount -= 1
        openCount -= 1
        if callback.purpose == .token { return tokenEnded(target, verdict, body: [], Self.now()) }
        end(callback, verdict, startedAt: startedAt, transport: transport)
    }

    func end(
        _ callback: Callback, _ verdict: CallbackOutcome.Verdict, startedAt: Int64,
        transport: TransportRecord = TransportRecord()
    ) {
        let duration = (Self.now() - startedAt) / 1000
        var transport = transport
        // The whole duration was the lookup.
        if case .failed(.nameResolution, _) = verdict { transport.lookup = duration }
        ended.append((callback.token, CallbackOutcome(verdict: verdict, duration: duration, transport: transport)))
    }

    package func abort(_ shards: Shards) {
        for (host, waiting) in lookups {
            let rest = waiting.filter { !shards.contains($0.callback.delegate.key) }
            lookups[host] = rest.isEmpty ? nil : rest
            for gone in waiting where shards.contains(gone.callback.delegate.key) {
                endOpen(gone.callback, gone.target, CurlResult.tooLate, startedAt: gone.startedAt)
            }
        }
        for target in awaitingTokens {
            for gone in target.tokens?.takeWaiting(where: { shards.contains($0.callback.delegate.key) }) ?? [] {
                endOpen(gone.callback, target, CurlResult.tooLate, startedAt: gone.startedAt)
            }
        }
        for transfer in pool.all {
            guard let callback = transfer.callback, let target = transfer.target,
                shards.contains(callback.delegate.key)
            else { continue }
            if let multi = multi(target.multi) { herald_multi_remove(multi.handle, transfer.easy) }
            stopConnecting(transfer, target)
            let startedAt = transfer.startedAt
            release(transfer)
            endOpen(callback, target, CurlResult.tooLate, startedAt: startedAt)
        }
    }

    package func close(finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) {
        guard !isClosed else { return }
        isClosed = true
        let now = Self.now()
        func stop(_ callback: Callback, _ startedAt: Int64) {
            if callback.purpose == .token { return }
            let verdict = CallbackOutcome.Verdict.failed(.stopped, detail: "Herald stopped before a response came")
            finished(callback.token, CallbackOutcome(verdict: verdict, duration: (now - startedAt) / 1000))
        }
        for entry in ended { finished(entry.token, entry.outcome) }
        for waiting in lookups.values.joined() { stop(waiting.callback, waiting.startedAt) }
        for waiting in awaitingTokens.flatMap({ $0.tokens?.takeWaiting(where: { _ in true }) ?? [] }) {
            stop(waiting.callback, waiting.startedAt)
        }
        for transfer in pool.all {
            guard let callback = transfer.callback else { continue }
            if let multi = transfer.target.flatMap({ multi($0.multi) }) {
                herald_multi_remove(multi.handle, transfer.easy)
            }
            stop(callback, transfer.startedAt)
        }
        ended = []
        lookups = [:]
        awaitingTokens = []
        openBodies.removeAll()
        waitingTransfers.removeAll()
        // The libcurl handles first, then the connections that they leave in the multi handles, then what these refer to.
        for transfer in pool.all { transfer.clear() }
        http1.close()
        http2?.close()
        descriptors.endReads()
        pool = TransferPool()
        targets = [:]
    }
}
