import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// A webhook's attempts and statistics, and why it gets an event or not.
struct DelegateRecordEndpoints: Sendable {
    let hub: Hub

    var routes: [Route] {
        [
            Route(.get, "/v1/delegates/{id}/attempts", needs: .read, takesQuery: true, attempts),
            Route(.get, "/v1/delegates/{id}/stats", needs: .read, statistics),
            Route(.get, "/v1/delegates/{id}/explain", needs: .read, takesQuery: true, explain),
        ]
    }

    private func attempts(_ call: Call) throws(Problem) {
        let query = try call.query("outcome", "event", "error", "since", "until", "limit", "cursor")
        let delegate = try call.webhook(in: hub)
        var wanted = AttemptQuery(delegate: delegate.key)
        wanted.before = try call.cursor(query, .attempt)
        wanted.limit = try query.limit()
        wanted.succeeded = try query.succeeded()
        var search = AttemptSearch(wanted)
        search.errors = try query.deliveryErrors()
        search.since = try query.time("since")
        search.until = try query.time("until")
        if search.isReversed { throw .invalidParameter("until", DeliverySelection.isReversed) }
        if wanted.succeeded == true, !search.errors.isEmpty {
            throw .invalidParameter("error", AttemptSearch.isForFailures)
        }
        let eventID = query["event"]
        try call.answer(from: hub) { [search] reader in
            var search = search
            search.query.event = try eventID.map { try DeliverySelection.event($0, call.app, reader).sequence }
            let (found, next) = try search.page(reader)
            let events = try EventHeads(found.map(\.record.event), reader)
            call.send(page: found, query, next: next.map { call.sealed($0, .attempt) }) { attempt, json in
                let id = call.seal.id(of: attempt, app: call.app)
                json.members(of: attempt, id: id, eventID: events[attempt.record.event]?.id)
            }
        }
    }

    private func statistics(_ call: Call) throws(Problem) {
        let delegate = try call.webhook(in: hub)
        try call.answer(from: hub) { reader in
            let statistics = try DelegateStatistics(delegate, hub, reader)
            call.send { $0.members(of: statistics, call.seal) }
        }
    }

    /// Whether a webhook gets an event of the log, and if not, why.
    private func explain(_ call: Call) throws(Problem) {
        guard let event = try call.query("event")["event"] else {
            throw .invalidParameter("event", "is required: the id of an event")
        }
        let delegate = try call.webhook(in: hub)
        try call.answer(from: hub) { reader in
            let logged = try DeliverySelection.event(event, call.app, reader)
            let explanation = try DeliveryExplanation(delegate, of: logged)
            call.send { $0.members(of: explanation) }
        }
    }
}

extension Query {
    /// The parameter `outcome`; `nil` for all attempts.
    func succeeded() throws(Problem) -> Bool? {
        try value("outcome", "must be succeeded or failed") { ["succeeded": true, "failed": false][$0] }
    }
}
