public import HeraldCore
public import HeraldModel

/// The webhooks of a hub: all that the HTTP API can do with them.
///
/// Errors are `HubError`s. Any thread.
public struct Webhooks: Sendable {
    let hub: Hub
}

extension Hub {
    /// The webhooks of this hub.
    public var webhooks: Webhooks { Webhooks(hub: self) }
}

// MARK: - Registering and changing

extension Webhooks {
    /// Registers a webhook: Herald calls its URL for each selected event, until a call succeeds.
    ///
    /// ```swift
    /// try await hub.webhooks.add("https://shop.example/hook", events: ["order.*"])
    /// ```
    /// - Parameters:
    ///   - url: the URL to call: `http://` or `https://`.
    ///   - events: types such as `order.placed`, prefixes such as `order.*`, or `*`.
    ///   - secret: signs the requests; `nil` to create one.
    /// - Returns: the webhook; with its secret, if it is new.
    /// - Throws: `HubError.invalid`, `.urlTaken`, `.tooMany`, or that the hub can't write.
    @discardableResult
    public func add(
        _ url: String, events: [String] = ["*"], secret: SigningSecret? = nil
    ) async throws(HubError) -> Webhook {
        try await add(WebhookSettings(url: url, events: events.map(EventPattern.init(unchecked:))), secret: secret)
    }

    /// Registers a webhook with settings.
    ///
    /// A URL that is already registered with the same settings (and the same secret, if one is given) is left unchanged, so
    /// an app can register at each start.
    /// - Parameters:
    ///   - settings: the URL, the selected events and how to send them.
    ///   - secret: signs the requests; `nil` to create one.
    ///   - signature: the kind of secret to create; `nil` for that which the settings need.
    ///   - start: the first events that it gets.
    ///   - replaysCurrentState: whether it first gets the current app state, and the auth status of its subjects.
    /// - Returns: the webhook; with its secret, if it is new.
    /// - Throws: `HubError.invalid`, `.urlTaken`, `.tooMany`, or that the hub can't write.
    @discardableResult
    public func add(
        _ settings: WebhookSettings, secret: SigningSecret? = nil, signature: SigningSecret.Scheme? = nil,
        start: EventPoint = .now, replaysCurrentState: Bool = false
    ) async throws(HubError) -> Webhook {
        try await register(settings, secret: secret, signature: signature, start: start) {
            $0.replaysCurrentState = replaysCurrentState
        }
    }

    /// Registers a webhook, or gives the one with this URL these settings: afterwards there is a webhook as described. An app that
    /// knows its webhooks calls it at each start, also when their settings are other ones than before. With several webhooks at one
    /// URL it changes the one that sends the same requests for some of the same events; name their ids, or use `add`.
    ///
    /// A webhook that is changed keeps its id, its waiting deliveries and its status: a paused one stays paused.
    /// - Parameters:
    ///   - settings: all settings; those that are not given get their defaults.
    ///   - id: the webhook to change, whose URL may be another one then; `nil` for the one with the URL.
    ///   - secret: signs the requests; if it is another one than before, the previous one also signs for a day. `nil` keeps the
    ///     present one, or creates one.
    ///   - start: the first events that a new webhook gets.
    /// - Returns: the webhook; with its secret, if it is new.
    /// - Throws: `HubError.invalid`, `.tooMany`, `.urlTaken`, or that the hub can't write; with an id also `.notFound`.
    @discardableResult
    public func set(
        _ settings: WebhookSettings, id: Webhook.ID? = nil, secret: SigningSecret? = nil, start: EventPoint = .now
    ) async throws(HubError) -> Webhook {
        if let id {
            return try await update(id) { state, now throws(FieldErrors) in
                try state.replace(settings, secret, now: now)
            }
        }
        return try await register(settings, secret: secret, start: start) { $0.replacesSettings = true }
    }

    func register(
        _ settings: WebhookSettings, secret: SigningSecret?, signature: SigningSecret.Scheme? = nil, start: EventPoint,
        _ adjust: (inout RegistryWrite.Registration) -> Void
    ) async throws(HubError) -> Webhook {
        let scheme = signature ?? settings.request?.keyScheme ?? .v1
        let key = if let secret { secret } else { try SigningSecret.random(scheme) }
        var registration = RegistryWrite.Registration(settings: settings, secret: key)
        registration.isOwnSecret = secret != nil
        adjust(&registration)
        if start.input != .now {
            registration.start = try await hub.reading { [hub] reader in
                try start.input.first(in: reader, app: .default, head: hub.head, pointer: "/start") - 1
            }
        }
        let outcome = try await hub.change(.register(registration))
        guard case .registered(let delegate) = outcome else { return try webhook(of: outcome, "") }
        let backlog = registration.start.map { Backlog(unseenAfter: $0, of: .default, in: hub) }
        return Webhook(delegate, hub, backlog, showsSecret: true)
    }

    /// Changes the settings of a webhook. Waiting deliveries use the new settings.
    /// - Parameters:
    ///   - id: the id of the webhook.
    ///   - version: only this ``Webhook/version`` of it; `nil` for any.
    ///   - change: computes the new settings from the current ones; called on the writer's thread, perhaps again if a commit has to
    ///     be repeated; must not wait.
    /// - Throws: `HubError.invalid`, `.notFound`, `.hasChanged`, `.urlTaken`, or that the hub can't write.
    @discardableResult
    public func update(
        _ id: Webhook.ID, ifVersion version: Int64? = nil,
        _ change: @escaping @Sendable (inout WebhookSettings) -> Void
    ) async throws(HubError) -> Webhook {
        try await update(id, version) { state, _ in change(&state.settings) }
    }

    /// Removes a webhook and its waiting deliveries.
    /// - Parameters:
    ///   - id: the id of the webhook.
    ///   - version: only this ``Webhook/version`` of it; `nil` for any.
    /// - Throws: `HubError.notFound`, `.hasChanged`, or that the hub can't write.
    public func remove(_ id: Webhook.ID, ifVersion version: Int64? = nil) async throws(HubError) {
        _ = try await hub.change(.remove(id: id, ifVersion: version.map { [$0] })).webhooks(id)
    }

    /// Removes all webhooks and pull delegates, with their waiting deliveries.
    /// - Returns: how many there were.
    /// - Throws: that the hub can't write.
    @discardableResult
    public func removeAll() async throws(HubError) -> Int { try await hub.change(.removeAll).webhooks("").count }

    /// Stops sending. Events are kept, within the retention, until it is resumed.
    /// - Throws: `HubError.notFound`, or that the hub can't write.
    @discardableResult
    public func pause(_ id: Webhook.ID) async throws(HubError) -> Webhook {
        try await update(id) { state, now in state.apply(.paused, now: now) }
    }

    /// Sends again, from where it stopped: after ``pause(_:)``, and when Herald or the receiver has disabled the webhook.
    /// - Throws: `HubError.notFound`, or that the hub can't write.
    @discardableResult
    public func resume(_ id: Webhook.ID) async throws(HubError) -> Webhook {
        try await update(id) { state, now in state.apply(.resumed, now: now) }
    }

    /// Restarts the lease of a webhook.
    /// - Throws: `HubError.noLease`, `.notFound`, or that the hub can't write.
    @discardableResult
    public func renew(_ id: Webhook.ID) async throws(HubError) -> Webhook {
        let webhook = try await update(id) { state, now in state.apply(.leaseRenewed, now: now) }
        if webhook.settings.lease == nil { throw .noLease(id: id) }
        return webhook
    }

    /// Replaces the key that signs. The old one also signs during the overlap, so that the receiver can be updated.
    /// - Parameters:
    ///   - id: the id of the webhook.
    ///   - secret: the new key; `nil` to create one.
    ///   - signature: the kind of key to create; `nil` for the present kind.
    ///   - overlap: how long the old key still signs, at most a week, in whole seconds; `nil` for a day.
    /// - Returns: the webhook, with its new secret.
    /// - Throws: `HubError.invalid`, `.notFound`, or that the hub can't write.
    @discardableResult
    public func rotateSecret(
        of id: Webhook.ID, to secret: SigningSecret? = nil, signature: SigningSecret.Scheme? = nil,
        overlap: Duration? = nil
    ) async throws(HubError) -> Webhook {
        _ = try hub.webhook(id, of: .default, for: .rotateSecret)
        let rotation = SecretRotation(
            overlapSeconds: overlap?.components.seconds ?? SecretRotation.defaultOverlap, secret, scheme: signature,
            newBytes: try SigningSecret.newBytes())
        return try await update(id, showsSecret: true) { state, now throws(FieldErrors) in
            try rotation.rotate(&state, now: now)
        }
    }

    private func update(
        _ id: String, _ version: Int64? = nil, showsSecret: Bool = false,
        _ change: @escaping @Sendable (inout WebhookDelegate.State, Int64) throws(FieldErrors) -> Void
    ) async throws(HubError) -> Webhook {
        try webhook(
            of: await hub.change(.update(id: id, ifVersion: version.map { [$0] }, change: change)), id, showsSecret)
    }

    private func webhook(
        of outcome: RegistryWrite.Outcome, _ id: String, _ showsSecret: Bool = false
    ) throws(HubError) -> Webhook {
        guard let delegate = try outcome.webhooks(id).first else { throw .noDelegate(id) }
        return Webhook(delegate, hub, showsSecret: showsSecret)
    }
}

// MARK: - Reading

extension Webhooks {
    /// A webhook.
    /// - Throws: `HubError.notFound`, or that the hub can't read.
    public func get(_ id: Webhook.ID) async throws(HubError) -> Webhook {
        let delegate = try hub.webhook(id, of: .default)
        guard hub.lane(of: delegate)?.next != nil else { return Webhook(delegate, hub, Backlog()) }
        return try await hub.reading { [hub] reader in
            Webhook(delegate, hub, try BacklogCounter(hub, reader).count(delegate))
        }
    }

    /// The webhooks, newest first.
    /// - Parameters:
    ///   - status: only those with this status.
    ///   - event: only those whose patterns match this type.
    ///   - limit: the maximum number of entries, 1 to 500.
    ///   - cursor: continues behind an earlier page.
    /// - Throws: `HubError.invalid`, or that the hub can't read.
    public func list(
        status: WebhookStatus? = nil, event: String? = nil, limit: Int = 100, after cursor: ListCursor? = nil
    ) async throws(HubError) -> ListPage<Webhook> {
        try ListCursor.check(limit)
        var before: String?
        if let cursor {
            guard case .webhook(let id) = cursor.place else { throw ListCursor.wrong() }
            before = id
        }
        if let event, !EventType.isValid(event) {
            throw .invalid([FieldError("/event", "must be \(EventType.words)")])
        }
        return try await hub.reading { [hub, before] reader in
            // One more shows that there is another page.
            let found = hub.committed.registry.list(.default, before: before, limit: limit + 1) { delegate in
                guard delegate.settings.kind == .webhook else { return false }
                if let status, delegate.shownStatus(hub.lane(of: delegate)) != status { return false }
                return event.map(delegate.selection.includes(type:)) ?? true
            }
            let shown = found.prefix(limit)
            let lanes = shown.compactMap { delegate in hub.lane(of: delegate).map { (delegate, $0) } }
            let backlogs = try BacklogCounter(hub, reader).count(lanes)
            let isLast = found.count <= limit
            return ListPage(
                elements: shown.map { Webhook($0, hub, backlogs[$0.key] ?? Backlog()) },
                next: isLast ? nil : shown.last.map { ListCursor(place: .webhook(id: $0.id)) })
        }
    }

    /// How the deliveries to a webhook went.
    /// - Throws: `HubError.notFound`, or that the hub can't read.
    public func statistics(of id: Webhook.ID) async throws(HubError) -> Webhook.Statistics {
        let delegate = try hub.webhook(id, of: .default)
        return try await hub.reading { [hub] in Webhook.Statistics(try DelegateStatistics(delegate, hub, $0)) }
    }

    /// Why a webhook, with its current settings, does not get an event of the log.
    /// - Returns: the first clause that does not match; `nil` if it gets the event.
    /// - Throws: `HubError.notFound`, `.budgetExceeded`, or that the hub can't read.
    public func explain(_ eventID: String, to id: Webhook.ID) async throws(HubError) -> FieldError? {
        let delegate = try hub.webhook(id, of: .default)
        return try await hub.reading { reader in
            let explanation = try DeliveryExplanation(
                delegate, of: try DeliverySelection.event(eventID, .default, reader))
            return explanation.refusal.map { _ in FieldError(explanation.clause ?? "", explanation.reason ?? "") }
        }
    }

    /// The request that a webhook would get for an event of the log. It is sent nowhere.
    /// - Parameters:
    ///   - eventID: the id of the event.
    ///   - id: the id of the webhook.
    /// - Returns: the request, with `***` for secrets.
    /// - Throws: `HubError.invalid` if the recipe of the webhook makes no request of the event, `.notFound`,
    ///   `.eventDamaged`, or that the hub can't read.
    public func preview(_ eventID: String, to id: Webhook.ID) async throws(HubError) -> Webhook.Request {
        let delegate = try hub.webhook(id, of: .default)
        return try await hub.reading { [hub] reader in
            let event = try DeliverySelection.intactEvent(eventID, .default, reader).event
            switch hub.preview(delegate, event) {
            case .request(let request): return Webhook.Request(request)
            case .notMade(let error): throw HubError.invalid([error])
            }
        }
    }
}

// MARK: - Calling

extension Webhooks {
    /// Calls a webhook once, now. The attempt is in no list and is not repeated.
    /// - Parameters:
    ///   - id: the id of the webhook.
    ///   - eventID: the id of an event of the log; `nil` for an event of the type `herald.test`, which is not logged.
    /// - Returns: how it ended, which may be a failure.
    /// - Throws: `HubError.unverified`, `.notFound`, `.eventDamaged`, `.busy`, or that the hub can't read.
    public func test(_ id: Webhook.ID, event eventID: String? = nil) async throws(HubError) -> Webhook.Attempt {
        let delegate = try hub.testableWebhook(id, of: .default)
        if hub.isStopping { throw .stopping }
        var event: Event?
        if let eventID {
            event = try await hub.reading { reader in
                try DeliverySelection.intactEvent(eventID, .default, reader).event
            }
        }
        let outcome = await withCheckedContinuation { [event] continuation in
            hub.test(delegate, event) { continuation.resume(returning: $0) }
        }
        guard let outcome else {
            if hub.isStopping { throw .stopping }
            // It was removed, or too many test calls are waiting.
            _ = try hub.webhook(id, of: .default)
            throw .busy
        }
        return Webhook.Attempt(AttemptResult(outcome))
    }
}
