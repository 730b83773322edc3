import HeraldCore
import HeraldHTTP
import HeraldJSON

/// Deliveries that wait or did not succeed: listing, redelivering and cancelling them.
struct DeliveryEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.get, "/v1/deliveries", needs: .read, list),
            Route(.get, "/v1/deliveries/counts", needs: .read, count),
            Route(.post, "/v1/deliveries/redeliver", needs: .manage, redeliver),
            Route(.post, "/v1/deliveries/cancel", needs: .manage, cancel),
        ]
    }

    // MARK: Listing

    private func list(_ call: Call) throws(Problem) {
        let query = try call.query("state", "delegate", "event", "since", "until", "limit", "cursor")
        let selection = try selection(call, query, states: DeliverySelection.listed)
        let limit = try query.limit()
        if selection.state == .pending { return try listPending(selection, call, query, limit: limit) }
        let before = try call.deliveryCursor(query)
        try call.answer(from: hub) { reader in
            let found = try selection.rows(before: before, limit: limit + 1, hub, reader)
            call.send(page: found, query, limit: limit, cursor: { call.sealed($0.key) }) { $1.members(of: $0.row) }
        }
    }

    private func listPending(
        _ selection: DeliverySelection, _ call: Call, _ query: Query, limit: Int
    ) throws(Problem) {
        guard selection.delegate != nil || selection.eventID != nil else {
            throw .invalidParameters(PendingDeliveries.names, PendingDeliveries.isNeeded)
        }
        let kind = selection.eventID == nil ? NumberSeal.Kind.event : .delegate
        let cursor = try call.cursor(query, kind)
        try call.answer(from: hub) { reader in
            let (rows, next) = try PendingDeliveries(selection, hub).page(after: cursor ?? 0, limit: limit, reader)
            call.send(page: rows, query, next: next.map { call.sealed($0, kind) }) { $1.members(of: $0) }
        }
    }

    private func count(_ call: Call) throws(Problem) {
        let query = try call.query("state", "limit")
        let state = try query.state(of: [.retrying, .exhausted, .dropped]) ?? .exhausted
        let limit = try query.limit()
        try call.answer(from: hub) { reader in
            let counts = try DeliveryCounts(state.stored, of: call.app, limit: limit, hub, reader)
            call.send { $0.members(of: counts, state) }
        }
    }

    /// - Parameter states: the valid values of `state`.
    private func selection(
        _ call: Call, _ query: Query, states: [DeliveryState]
    ) throws(Problem) -> DeliverySelection {
        let state = try query.state(of: states)
        let delegate = try query["delegate"].map { id throws(Problem) in
            try problem { () throws(HubError) in try hub.webhook(id, of: call.app) }
        }
        let selection = DeliverySelection(
            app: call.app, state: state, delegate: delegate, eventID: query["event"], since: try query.time("since"),
            until: try query.time("until"))
        if selection.isReversed { throw .invalidParameter("until", DeliverySelection.isReversed) }
        return selection
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
        let query = try call.query("state", "delegate", "event", "since", "until", "dry_run")
        try call.noBody()
        let filter = try selection(call, query, states: states)
        guard filter.isNarrow else {
            throw .invalidParameters(DeliverySelection.names, DeliverySelection.mustBeNarrow)
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

extension Query {
    /// The parameter `state`.
    fileprivate func state(of states: [DeliveryState]) throws(Problem) -> DeliveryState? {
        guard let text = self["state"] else { return nil }
        guard let state = DeliveryState(rawValue: text), states.contains(state) else {
            throw .invalidParameter("state", "must be " + states.map(\.rawValue).joined(separator: " or "))
        }
        return state
    }
}

extension JSONObjectWriter {
    fileprivate mutating func members(count: Int, isDryRun: Bool) {
        member("deliveries", isDryRun ? count : min(count, DeliveryWrite.maxDeliveries))
        member("dry_run", isDryRun)
        member("more", isDryRun ? count > DeliveryWrite.maxDeliveries : count == DeliveryWrite.maxDeliveries)
    }
}
