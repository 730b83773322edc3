import HeraldCore
import HeraldHTTP
import HeraldJSON

/// A request to send past events again: `{"from", "until", "only"}`.
struct ReplayInput: Sendable {
    enum Only: String, CaseIterable {
        case all, failed
    }

    private static let fields = ["from", "until", "only"]

    let from: PositionInput
    let until: PositionInput
    let only: Only

    init(_ document: JSONDocument) throws(Problem) {
        var reader = FieldReader()
        reader.wrong(document.errors(unlessObjectOf: Self.fields))
        if let value = document["from"], !value.isNull, value.string != "now" {
            from = reader.place(value, "/from", words: "\"earliest\", \(PositionInput.words)")
        } else {
            reader.wrong("/from", "is required: \"earliest\", \(PositionInput.words)")
            from = .earliest
        }
        until =
            if let value = document["until"], !value.isNull {
                reader.place(value, "/until", words: "\"now\", \(PositionInput.words)")
            } else { .now }
        only =
            if let value = document["only"], !value.isNull {
                reader.choice(value, "/only", default: Only.all)
            } else { .all }
        if case .time(let first) = from, case .time(let last) = until, last < first {
            reader.wrong("/until", "is before from")
        }
        try reader.check()
    }

    /// The write (`nil` if this part of the log has no event) and the number of events to send. A reader's thread.
    func plan(
        for delegate: WebhookDelegate, _ hub: Hub, _ reader: any StoreReader
    ) throws -> (action: DeliveryWrite.Action?, backlog: Backlog) {
        let head = hub.head
        let first = try from.first(in: reader, app: delegate.app, head: head, pointer: "/from")
        let last = try until.last(in: reader, app: delegate.app, head: head, pointer: "/until")
        if last + 1 < first { throw Problem.invalid([FieldError("/until", "is before from")]) }
        guard first <= last else { return (nil, Backlog()) }
        switch only {
        case .all:
            let backlog = try BacklogCounter(hub, reader).count(delegate, after: first - 1, through: last)
            return (.replay(delegateID: delegate.id, after: first - 1, until: last), backlog)
        case .failed:
            var query = DeliveryQuery(WaitingDelivery.State.ended)
            query.app = delegate.app
            query.delegate = delegate.key
            query.events = first...last
            query.limit = DeliveryWrite.maxDeliveries
            var backlog = Backlog()
            backlog.events = Int64(min(try reader.countDeliveries(query), query.limit))
            return (.redeliver(query), backlog)
        }
    }

    /// - Parameter backlog: the counted events that will be sent.
    func answer(to call: Call, _ delegate: WebhookDelegate, _ backlog: Backlog)
        -> @Sendable (DeliveryWrite.Outcome) -> Response
    {
        { outcome in
            if case .replay(let replay) = outcome {
                return response(backlog, id: call.seal.id(of: replay, app: delegate.app))
            }
            return call.response(to: outcome) { count in
                var backlog = Backlog()
                backlog.events = Int64(count)
                return response(backlog)
            }
        }
    }

    /// 202 if the replay has started; 200 if there is nothing to do.
    /// - Parameter id: `nil` if there is no replay to follow.
    func response(_ backlog: Backlog, id: String? = nil, isDryRun: Bool = false) -> Response {
        var json = JSONWriter()
        json.object {
            $0.member("id", id)
            $0.member("only", only.rawValue)
            $0.member("events", backlog.events)
            $0.member("estimated", backlog.isEstimate)
            $0.member("dry_run", isDryRun)
        }
        return Response(
            status: isDryRun ? 200 : 202, headers: [.init("Content-Type", "application/json")], body: json.bytes)
    }
}
