import HeraldCore
import HeraldHTTP
import HeraldJSON

/// Deliveries that wait or did not succeed: listing, redelivering and cancelling them.
struct DeliveryEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.get, "/v1/deliveries", needs: .read, list),
            Route(.post, "/v1/deliveries/redeliver", needs: .manage, redeliver),
            Route(.post, "/v1/deliveries/cancel", needs: .manage, cancel),
        ]
    }

    // MARK: Listing

    private func list(_ call: Call) throws(Problem) {
        let query = try call.query("state", "delegate", "event", "limit", "cursor")
        let filter = try DeliveryFilter(call, query, hub, states: [.pending, .retrying, .exhausted, .dropped])
        let limit = try query.limit()
        if filter.state == .pending {
            return try PendingDeliveries(hub: hub, filter: filter).list(call, query, limit: limit)
        }
        let before = try call.deliveryCursor(query)
        try call.answer(from: hub) { reader in
            var wanted = try filter.query(Set(WaitingDelivery.State.allCases), reader)
            wanted.before = before
            wanted.limit = limit + 1
            let found = try reader.deliveries(wanted)
            let events = try EventHeads(found.prefix(limit).map(\.event), reader)
            call.send(page: found, query, limit: limit, cursor: call.sealed) { delivery, json in
                json.members(of: DeliveryRow(delivery, events[delivery.event], hub))
            }
        }
    }

    // MARK: Changing

    private func redeliver(_ call: Call) throws(Problem) {
        try change(call, states: [.retrying, .exhausted, .dropped], default: WaitingDelivery.State.ended) {
            .redeliver($0)
        }
    }

    private func cancel(_ call: Call) throws(Problem) {
        try change(call, states: [.retrying], default: [.retrying]) { .cancel($0) }
    }

    private func change(
        _ call: Call, states: [DeliveryState], default standard: Set<WaitingDelivery.State>,
        _ action: @escaping @Sendable (DeliveryQuery) -> DeliveryWrite.Action
    ) throws(Problem) {
        let query = try call.query("state", "delegate", "event", "dry_run")
        try call.noBody()
        let filter = try DeliveryFilter(call, query, hub, states: states)
        guard filter.isNarrow else {
            throw .validation(
                ["state", "delegate", "event"].map {
                    .init(
                        place: .parameter($0),
                        detail: "give at least one of the three, so that not everything is meant by accident")
                })
        }
        let isDryRun = try query.flag("dry_run")
        let idempotency: Idempotency<DeliveryWrite.Outcome>? = try call.idempotency(answer(to: call))
        try call.answer(from: hub) { reader in
            var wanted = try filter.query(standard, reader)
            wanted.limit = DeliveryWrite.maxDeliveries
            if isDryRun {
                let count = try reader.countDeliveries(wanted)
                return call.send { $0.members(count: count, isDryRun: true) }
            }
            hub.submit(
                DeliveryWrite(
                    app: call.app, action: action(wanted), provenance: call.provenance, idempotency: idempotency
                ) { call.send($0, answer(to: call)) })
        }
    }

    private func answer(to call: Call) -> @Sendable (DeliveryWrite.Outcome) -> Response {
        { outcome in
            call.response(to: outcome) { count in
                var json = JSONWriter()
                json.object { $0.members(count: count, isDryRun: false) }
                return Response(status: 200, headers: [.init("Content-Type", "application/json")], body: json.bytes)
            }
        }
    }
}

/// The deliveries that a request selects.
struct DeliveryFilter: Sendable {
    let app: AppKey
    let state: DeliveryState?
    let delegate: WebhookDelegate?
    let eventID: String?

    /// - Parameter states: the valid values of `state`.
    init(_ call: Call, _ query: Query, _ hub: Hub, states: [DeliveryState]) throws(Problem) {
        app = call.app
        state = try query["state"].map { text throws(Problem) in
            guard let state = DeliveryState(rawValue: text), states.contains(state) else {
                throw Problem.invalidParameter("state", "must be " + states.map(\.rawValue).joined(separator: " or "))
            }
            return state
        }
        delegate = try query["delegate"].map { id throws(Problem) in
            guard let delegate = hub.registry.delegate(call.app, id: id) else {
                throw Problem.notFound("There is no webhook with the id \(id).")
            }
            return delegate
        }
        eventID = query["event"]
    }

    /// Whether at least one condition is given.
    var isNarrow: Bool { state != nil || delegate != nil || eventID != nil }

    /// A reader's thread.
    /// - Parameter standard: the states if the request names none.
    func query(_ standard: Set<WaitingDelivery.State>, _ reader: any StoreReader) throws -> DeliveryQuery {
        var query = DeliveryQuery(state?.stored ?? standard)
        query.app = app
        query.delegate = delegate?.key
        query.event = try eventID.map { try Self.event($0, app, reader).sequence }
        return query
    }

    static func event(_ id: String, _ app: AppKey, _ reader: any StoreReader) throws -> LoggedEvent {
        guard let event = try reader.event(app: app, id: id) else {
            throw Problem.notFound("There is no event with the id \(id).")
        }
        return event
    }
}

extension JSONObjectWriter {
    fileprivate mutating func members(count: Int, isDryRun: Bool) {
        member("deliveries", isDryRun ? count : min(count, DeliveryWrite.maxDeliveries))
        member("dry_run", isDryRun)
        member("more", isDryRun ? count > DeliveryWrite.maxDeliveries : count == DeliveryWrite.maxDeliveries)
    }
}
