import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// Deliveries: listing and counting them, redelivering and cancelling those that wait or did not succeed.
struct DeliveryEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.get, "/v1/deliveries", needs: .read, takesQuery: true, list),
            Route(.get, "/v1/deliveries/counts", needs: .read, takesQuery: true, count),
            Route(.post, "/v1/deliveries/redeliver", needs: .manage, takesQuery: true, redeliver),
            Route(.post, "/v1/deliveries/cancel", needs: .manage, takesQuery: true, cancel),
        ]
    }

    // MARK: Listing

    private func list(_ call: Call) throws(Problem) {
        let query = try call.query(DeliverySelection.names + ["limit", "cursor"])
        let selection = try selection(call, query, states: DeliveryState.allCases)
        let limit = try query.limit()
        let last = try call.deliveryCursor(query, in: selection.state)
        try call.answer(from: hub) { reader in
            let (rows, next) = try selection.page(after: last, limit: limit, hub, reader)
            call.send(page: rows, query, next: next.map { call.sealed($0, in: selection.state) }) {
                $1.members(of: $0)
            }
        }
    }

    private func count(_ call: Call) throws(Problem) {
        let query = try call.query(DeliverySelection.names + ["limit", "cursor"])
        let selection = try selection(call, query, states: DeliverySelection.stored)
        let limit = try query.limit()
        let before = try call.deliveryCursor(query, in: selection.state)
        try call.answer(from: hub) { reader in
            let counts = try DeliveryCounts(selection, before: before, limit: limit, hub, reader)
            let next = counts.next.map { call.sealed($0, in: selection.state) }
            call.send { $0.members(of: counts, selection.state ?? .exhausted, next: next) }
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
        var filter = DeliveryFilter()
        filter.types = try query.types()
        filter.subject = query["subject"]
        filter.errors = try query.deliveryErrors()
        filter.failedSince = try query.time("failed_since")
        let selection = DeliverySelection(
            app: call.app, state: state, delegate: delegate, eventID: query["event"], since: try query.time("since"),
            until: try query.time("until"), filter: filter)
        if selection.isReversed { throw .invalidParameter("until", DeliverySelection.isReversed) }
        return selection
    }

    // MARK: Changing

    private func redeliver(_ call: Call) throws(Problem) {
        try change(call, states: DeliverySelection.stored, default: WaitingDelivery.State.ended) { .redeliver($0) }
    }

    private func cancel(_ call: Call) throws(Problem) {
        try change(call, states: [.retrying], default: [.retrying]) { .cancel($0) }
    }

    private func change(
        _ call: Call, states: [DeliveryState], default standard: Set<WaitingDelivery.State>,
        _ action: @escaping @Sendable (DeliveryQuery) -> DeliveryWrite.Action
    ) throws(Problem) {
        let query = try call.query(DeliverySelection.names + ["dry_run", "limit", "cursor"])
        try call.noBody("must be omitted: conditions are parameters of the query")
        let filter = try selection(call, query, states: states)
        guard filter.isNarrow else {
            throw .invalidParameters(DeliverySelection.names, DeliverySelection.mustBeNarrow)
        }
        let isDryRun = try query.flag("dry_run")
        let limit = try query.number("limit", 1...DeliveryWrite.maxDeliveries) ?? DeliveryWrite.maxDeliveries
        let before = try call.deliveryCursor(query, in: filter.state)
        let answer = answer(to: call, in: filter.state)
        let idempotency: Idempotency<DeliveryWrite.Outcome>? = try call.idempotency(answer)
        try call.answer(from: hub) { reader in
            var wanted = try filter.query(standard, reader)
            // Otherwise by the write, after it has searched for the response to an earlier request with the same key.
            if isDryRun {
                try hub.check(action(wanted), of: call.app)
                let (count, next) = try filter.count(wanted, before: before, reader)
                let cursor = next.map { call.sealed($0, in: filter.state) }
                return call.send { $0.members(count: count, next: cursor, isDryRun: true) }
            }
            wanted.before = before
            wanted.limit = limit
            call.submit(action(wanted), to: hub, idempotency: idempotency, answer)
        }
    }

    private func answer(to call: Call, in state: DeliveryState?) -> @Sendable (DeliveryWrite.Outcome) -> Response {
        { outcome in
            var next: String?
            if case .part(_, let last) = outcome { next = call.sealed(last, in: state) }
            return call.response(to: outcome) { count in
                .json { $0.members(count: count, next: next, isDryRun: false) }
            }
        }
    }
}

extension Query {
    /// The parameter `state`, or another one with a state.
    func state(of states: [DeliveryState], in name: String = "state") throws(Problem) -> DeliveryState? {
        try value(name, "must be " + states.map(\.rawValue).joined(separator: " or ")) { text in
            states.first { $0.rawValue == text }
        }
    }
}

extension JSONObjectWriter {
    /// - Parameter next: the cursor of the rest; `nil` if there is none, or if a count is complete.
    fileprivate mutating func members(count: Int, next: String?, isDryRun: Bool) {
        member("deliveries", count)
        member("dry_run", isDryRun)
        member("more", next != nil || (isDryRun && count > DeliveryWrite.maxDeliveries))
        member("next_cursor", next)
    }
}
