import CHeraldCurl
package import HeraldModel
import HeraldRuntime

/// A callback that waits for the address of its host.
struct WaitingCallback {
    let callback: Callback
    let target: Target
    /// Nanoseconds of the monotonic clock.
    let startedAt: Int64
    /// When its lookup must have ended; set when it begins.
    var deadline = Int64.max
}

extension CurlSender {
    private static let lookupTime: Int64 = 5_000_000_000
    private static let maxIdleTargets = 4096

    package func start(_ callback: Callback) {
        guard !isClosed else { return }
        let now = Self.now()
        guard openCount < capacity else {
            return end(
                callback, .failed(.stopped, detail: "more callbacks than the sender has room for"), startedAt: now)
        }
        do {
            let target = try target(for: callback.delegate)
            target.lastUsed = now
            target.openCount += 1
            openCount += 1
            let waiting = WaitingCallback(callback: callback, target: target, startedAt: now)
            if let tokens = target.tokens, callback.purpose != .handshake, !tokens.isValid(now) {
                requestToken(for: waiting, now)
            } else {
                reach(waiting, now)
            }
        } catch {
            end(callback, error.verdict, startedAt: now)
        }
    }

    /// Sends a callback that is counted as open, when the address of its host is known.
    func reach(_ waiting: WaitingCallback, _ now: Int64) {
        if waiting.target.reachExpiresAt > now {
            advance(waiting.callback, waiting.target, startedAt: waiting.startedAt, now)
        } else {
            lookUp(waiting, now)
        }
    }

    // MARK: Targets

    private func target(for delegate: WebhookDelegate) throws(TransferError) -> Target {
        if let target = targets[delegate.key], target.delegate === delegate { return target }
        if targets.count >= Self.maxIdleTargets { dropIdleTargets() }
        let target = try Target(
            delegate, userAgent: userAgent, origin: configuration.origin, addressGuard: configuration.addressGuard,
            proxies: configuration.proxies)
        targets[delegate.key] = target
        keepConnections()
        return target
    }

    /// Removes the least recently used half of the idle targets.
    private func dropIdleTargets() {
        let idle = targets.filter { $0.value.openCount == 0 }.sorted { $0.value.lastUsed < $1.value.lastUsed }
        for (key, _) in idle.prefix((idle.count + 1) / 2) { targets[key] = nil }
    }

    // MARK: Names

    private func lookUp(_ waiting: WaitingCallback, _ now: Int64) {
        var waiting = waiting
        // From now on: it may have waited for a token before.
        waiting.deadline = min(now + Self.lookupTime, waiting.startedAt + waiting.target.timeout)
        let host = waiting.target.url.host
        let app = waiting.target.delegate.app
        // Each app has its own share of the lookups.
        let isAsked = lookups[host]?.contains { $0.target.delegate.app == app } ?? false
        lookups[host, default: []].append(waiting)
        nextLookupDeadline = min(nextLookupDeadline, waiting.deadline)
        if !isAsked, let entry = resolver.resolve(host, for: app, replyTo: replies) { settle(host, entry) }
    }

    func takeReplies() {
        for reply in replies.takeAll() { settle(reply.host, reply.entry) }
    }

    private func settle(_ host: String, _ entry: Resolver.Entry) {
        guard let waiting = lookups.removeValue(forKey: host) else { return }
        let now = Self.now()
        for waiting in waiting {
            let target = waiting.target
            switch entry.answer {
            case .addresses(let addresses):
                target.settle(addresses, expiresAt: entry.expiresAt, configuration.addressGuard)
            case .failed(let reason), .unavailable(let reason):
                target.reach = .closed(.nameResolution, detail: "\(host): \(reason)")
                target.reachExpiresAt = entry.expiresAt
            case .lacking(let reason):
                let detail = "no lookup of \(host): \(reason)"
                target.reach = .closed(.stopped, detail: detail)
                target.reachExpiresAt = entry.expiresAt
                report(.failed(.stopped, detail: detail), now)
            }
            advance(waiting.callback, target, startedAt: waiting.startedAt, now)
        }
    }

    func expireLookups(_ now: Int64) {
        nextLookupDeadline = .max
        for (host, waiting) in lookups {
            let expired = waiting.filter { $0.deadline <= now }
            let left = waiting.filter { $0.deadline > now }
            lookups[host] = left.isEmpty ? nil : left
            // At most 20 times per second, because each time costs as much as there are names.
            for waiting in left {
                nextLookupDeadline = min(nextLookupDeadline, max(waiting.deadline, now + 50_000_000))
            }
            for waiting in expired {
                let verdict = CallbackOutcome.Verdict.failed(
                    .nameResolution, detail: "\(host): no response to the lookup in time")
                endOpen(waiting.callback, waiting.target, verdict, startedAt: waiting.startedAt)
            }
        }
    }

    // MARK: Transfers

    /// Starts the transfer, or ends the callback if its host cannot be called.
    private func advance(_ callback: Callback, _ target: Target, startedAt: Int64, _ now: Int64) {
        switch target.reach {
        case .open(let pins):
            if let rule = refusal(ofLoopback: pins, target) {
                return endOpen(callback, target, .failed(.addressBlocked, detail: rule), startedAt: startedAt)
            }
            // There is room: `start` bounds the number of open callbacks.
            let transfer = pool.take(make: makeTransfer)
            transfer.startedAt = startedAt
            transfer.lookedUpAt = now
            transfer.connectsItself = false
            dial(transfer, callback, target, pins[target.preferred % pins.count], now)
        case .closed(let failure, let detail):
            endOpen(callback, target, .failed(failure, detail: detail), startedAt: startedAt)
        case .unknown:
            endOpen(
                callback, target, .failed(.nameResolution, detail: "the host was not looked up"), startedAt: startedAt)
        }
    }

    /// The rule that refuses an address of this machine now: whether loopback is allowed changes when the first access
    /// key is made.
    private func refusal(ofLoopback pins: [Pin], _ target: Target) -> String? {
        for pin in pins where pin.address.isLoopback || pin.address.translated?.isLoopback == true {
            let verdict = configuration.addressGuard.authorize(address: pin.address, port: pin.port, host: target.name)
            if case .refused(let rule) = verdict { return rule }
        }
        return nil
    }

    /// Sends a callback to one address within the remaining time.
    func dial(
        _ transfer: Transfer, _ callback: Callback, _ target: Target, _ pin: Pin, _ now: Int64, isFresh: Bool = false
    ) {
        let time = target.timeout
        // Fast path: no time has passed, and the handle already has its timeout.
        let left = transfer.startedAt == now ? time : max(time - (now - transfer.startedAt), 1_000_000)
        transfer.dialledAt = now
        do {
            let wall = clock.wall()
            let recipe = try request(callback, target, now: wall)
            transfer.tokenIssuedAt = target.tokens?.issuedAt ?? 0
            let payload = recipe?.payload ?? encoder.payload(callback.event, target.format)
            try makeRoom(for: recipe?.ownBytes ?? payload.headerBytes, transfer, target.delegate.app)
            try transfer.prepare(
                callback, target, pin, payload, recipe, now: wall, milliseconds: Int(left / 1_000_000),
                isFresh: isFresh || callback.isFresh)
            if let multi = ready(target.multi), herald_multi_add(multi.handle, transfer.easy) == 1 {
                if target.multi == .http2 {
                    waitingTransfers.insert(transfer, deadline: transfer.startedAt + time, now)
                }
                return
            }
            release(transfer)
            endOpen(callback, target, CurlResult.notTaken, startedAt: transfer.startedAt)
        } catch {
            release(transfer)
            endOpen(callback, target, error.verdict, startedAt: transfer.startedAt)
        }
    }

    /// A transfer that is sent once more, over a new connection, gives its room back first.
    /// - Parameter count: the bytes of the request that no other one shares.
    private func makeRoom(for count: Int, _ transfer: Transfer, _ app: AppKey) throws(TransferError) {
        recipeBodies.give(back: transfer.recipeBytes, of: app)
        transfer.recipeBytes = 0
        guard let bytes = recipeBodies.take(count, of: app) else {
            throw TransferError(
                "the bodies and headers that were made for open requests leave no room for this one", .stopped)
        }
        transfer.recipeBytes = bytes
    }

    /// `nil` for a plain request.
    private func request(_ callback: Callback, _ target: Target, now: Int64) throws(TransferError) -> RecipeRequest? {
        if callback.purpose == .token { return target.tokenRequest }
        guard let recipe = target.recipe, callback.purpose != .handshake else { return nil }
        return try recipe.request(callback, to: target.url, &encoder, token: target.tokens?.text, now: now)
    }

    /// The multi handle for a version of HTTP, made on first use; `nil` if libcurl has no memory for it.
    private func ready(_ kind: Multi.Kind) -> Multi? {
        if kind == .http2, http2 == nil {
            http2 = try? Multi(.http2, descriptors)
            keepConnections()
        }
        return multi(kind)
    }

    private func makeTransfer(_ index: Int) -> Transfer {
        keepConnections(transfers: index + 1)
        return Transfer(
            index: index, descriptors: descriptors, openBodies: openBodies, addressGuard: configuration.addressGuard,
            gate: gate, caFile: configuration.certificateAuthorities ?? CurlLibrary.authorities)
    }

    private func keepConnections() { keepConnections(transfers: pool.all.count) }

    /// Sets how many connections are kept. The number grows with the transfers that were open at once, and with the
    /// targets, so that each target keeps a connection however many targets take turns. HTTP/2 needs a quarter of them,
    /// because each connection carries many requests.
    private func keepConnections(transfers: Int) {
        let count = 4 * transfers + targets.count + 128
        guard let http2 else {
            return herald_multi_keep_connections(http1.handle, min(count, configuration.maxConnections))
        }
        let quarter = max(configuration.maxConnections / 4, 1)
        herald_multi_keep_connections(http1.handle, min(count, max(configuration.maxConnections - quarter, 1)))
        herald_multi_keep_connections(http2.handle, min(count, quarter))
    }
}
