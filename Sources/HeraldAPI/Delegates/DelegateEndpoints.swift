import HeraldCore
import HeraldDelivery
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Registering, listing, changing and removing delegates.
struct DelegateEndpoints: Sendable {
    let hub: Hub
    let streams: Streams

    var routes: [Route] {
        [
            Route(.post, "/v1/delegates", needs: .manage, register),
            Route(.get, "/v1/delegates", needs: .read, takesQuery: true, list),
            Route(.delete, "/v1/delegates", needs: .manage, takesQuery: true, removeAll),
            Route(.get, "/v1/delegates/{id}", needs: .read, show),
            Route(.patch, "/v1/delegates/{id}", needs: .manage, change),
            Route(.delete, "/v1/delegates/{id}", needs: .manage, remove),
        ]
    }

    private var registry: RegistryChange { RegistryChange(hub: hub) }

    // MARK: Writing

    private func register(_ call: Call) throws(Problem) {
        let input = try DelegateInput.registration(call.json(), hub.rules)
        let secret = try input.key()
        var registration = RegistryWrite.Registration(settings: input.settings, secret: secret)
        registration.isOwnSecret = input.secret.brought != nil
        registration.replaysCurrentState = input.replaysCurrentState
        guard input.start != .now else {
            return try registry.make(call, .register(registration), showing: input.isSigned ? secret : nil)
        }
        let starting = registration
        try call.answer(from: hub) { reader in
            let start = try input.start.first(in: reader, app: call.app, head: hub.head, pointer: "/start") - 1
            var registration = starting
            registration.start = start
            // Before the change: the response that is stored has the same number as the one that is sent.
            let backlog = Backlog(unseenAfter: start, of: call.app, in: hub)
            try registry.make(
                call, .register(registration), showing: input.isSigned ? secret : nil, backlog)
        }
    }

    private func change(_ call: Call) throws(Problem) {
        try registry.update(call, DelegateInput.patch(call.json(), hub.rules))
    }

    private func remove(_ call: Call) throws(Problem) {
        try registry.make(call, .remove(id: call.parameters[0], ifVersion: call.versions()))
    }

    private func removeAll(_ call: Call) throws(Problem) {
        guard try call.query("all").flag("all") else {
            throw .badRequest(
                "Deleting all webhooks and pull delegates requires ?all=true, so that it cannot happen by accident.")
        }
        try registry.make(call, .removeAll)
    }

    // MARK: Reading

    private func list(_ call: Call) throws(Problem) {
        let query = try call.query("kind", "status", "event", "search", "sort", "limit", "cursor")
        let limit = try query.limit()
        let filter = try DelegateFilter(query)
        let order = try DelegateOrder(query)
        // Not on the loop's thread, although the store is not read: a filter may examine every delegate.
        try call.answer(from: hub) { reader in
            let entries = entries(call.app, filter, order, limit: limit + 1)
            let lanes = entries.prefix(limit).compactMap { entry -> BacklogCounter.Lane? in
                guard case .webhook(let delegate) = entry else { return nil }
                return hub.lane(of: delegate).map { (delegate, $0) }
            }
            let backlogs = try BacklogCounter(hub, reader).count(lanes)
            call.send(page: entries, query, limit: limit, cursor: { order.cursor(of: $0, hub) }) { entry, json in
                switch entry {
                case .webhook(let delegate):
                    json.members(of: delegate, in: hub, backlogs[delegate.key] ?? Backlog())
                case .inMemory(let delegate): json.members(of: delegate)
                case .eventStream(let stream): json.members(of: stream, lag: streams.events.lag(stream))
                case .attemptStream(let stream): json.members(of: stream, lag: streams.attempts.lag(stream))
                }
            }
        }
    }

    /// One page. Only the order of the registry makes it unnecessary to read all of them.
    private func entries(
        _ app: AppKey, _ filter: DelegateFilter, _ order: DelegateOrder, limit: Int
    ) -> [DelegateEntry] {
        var entries: [DelegateEntry] = []
        if filter.includesRegistered {
            let found = hub.committed.registry.list(
                app, before: order.isNewestFirst ? order.last?.id : nil, limit: order.isNewestFirst ? limit : .max
            ) { filter.accepts($0, status: $0.shownStatus(hub.lane(of: $0))) }
            entries += found.map(DelegateEntry.webhook)
        }
        // Objects in the process belong to the operator, so they are listed in `default` only.
        if app == .default && filter.includes("in_memory") && filter.acceptsActive {
            entries += hub.inMemoryDelegates.filter(filter.accepts).map(DelegateEntry.inMemory)
        }
        if filter.includes("stream") && filter.acceptsActive {
            entries += streams.events.all.filter { $0.interest.app == app && filter.accepts($0) }
                .map(DelegateEntry.eventStream)
            if filter.event == nil && filter.search == nil {
                entries += streams.attempts.all.filter { $0.interest.app == app }.map(DelegateEntry.attemptStream)
            }
        }
        return order.page(of: entries, limit: limit, hub)
    }

    private func show(_ call: Call) throws(Problem) {
        let id = call.parameters[0]
        if let delegate = hub.committed.registry.delegate(call.app, id: id) {
            let version = String(delegate.version)
            guard hub.lane(of: delegate)?.next != nil else {
                return call.send(etag: version) { $0.members(of: delegate, in: hub, Backlog()) }
            }
            return try call.answer(from: hub) { reader in
                let backlog = try BacklogCounter(hub, reader).count(delegate)
                call.send(etag: version) { $0.members(of: delegate, in: hub, backlog) }
            }
        }
        if let stream = streams.events.stream(id), stream.interest.app == call.app {
            return call.send { $0.members(of: stream, lag: streams.events.lag(stream)) }
        }
        if let stream = streams.attempts.stream(id), stream.interest.app == call.app {
            return call.send { $0.members(of: stream, lag: streams.attempts.lag(stream)) }
        }
        guard call.app == .default, let delegate = hub.inMemoryDelegates.first(where: { $0.id == id }) else {
            throw .noDelegate(id)
        }
        call.send { $0.members(of: delegate) }
    }
}
