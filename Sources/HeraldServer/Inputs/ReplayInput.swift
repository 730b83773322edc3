import HTTPServer
import Herald
import JSON

/// A request to send past events again: `{"from", "until", "only"}`.
struct ReplayInput: Sendable {
    enum Only: String, CaseIterable {
        case all, failed
    }

    private static let fields = ["from", "until", "only"]

    let from: LogPlace
    let until: LogPlace
    let only: Only

    init(_ document: JSONDocument) throws(Problem) {
        var reader = FieldReader()
        reader.wrong(document.errors(unlessObjectOf: Self.fields))
        if let value = document["from"], !value.isNull, value.string != "now" {
            from = reader.place(value, "/from", words: "\"earliest\", \(LogPlace.words)")
        } else {
            reader.wrong("/from", "is required: \"earliest\", \(LogPlace.words)")
            from = .earliest
        }
        until =
            if let value = document["until"], !value.isNull {
                reader.place(value, "/until", words: "\"now\", \(LogPlace.words)")
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

    /// What is to be done; `nil`: there is no event in this part of the log. A reader's thread.
    func action(
        for delegate: WebhookDelegate, _ reader: any StoreReader, head: Sequence
    ) throws -> DeliveryWrite.Action? {
        let first = try from.first(in: reader, app: delegate.app, head: head, pointer: "/from")
        let last = try until.last(in: reader, app: delegate.app, head: head, pointer: "/until")
        if last + 1 < first { throw Problem.invalid([FieldError("/until", "is before from")]) }
        guard first <= last else { return nil }
        switch only {
        case .all: return .replay(delegateID: delegate.id, after: first - 1, until: last)
        case .failed:
            var query = DeliveryQuery(WaitingDelivery.State.ended)
            query.app = delegate.app
            query.delegate = delegate.key
            query.events = first...last
            query.limit = DeliveryWrite.maxDeliveries
            return .redeliver(query)
        }
    }

    /// 202, since it has only begun.
    func answer(to call: Call, _ delegate: WebhookDelegate, _ usage: LogUsage)
        -> @Sendable (DeliveryWrite.Outcome) -> Response
    {
        { outcome in
            if case .replay(let replay) = outcome {
                let id = call.seal.id(of: replay, app: delegate.app)
                let events = usage.events(of: delegate.app, in: replay)
                return response {
                    $0.member("id", id)
                    $0.member("only", only.rawValue)
                    $0.member("events", events)
                }
            }
            return call.response(to: outcome) { count in
                response {
                    $0.member("id", JSONNull())
                    $0.member("only", only.rawValue)
                    $0.member("events", count)
                }
            }
        }
    }

    private func response(_ body: (inout JSONObjectWriter) -> Void) -> Response {
        var json = JSONWriter()
        json.object(body)
        return Response(status: 202, headers: [.init("Content-Type", "application/json")], body: json.bytes)
    }
}

extension LogUsage {
    /// Events of the app that a replay has still to come to.
    func events(of app: AppKey, in replay: Replay) -> Int64 {
        max(0, events(of: app, after: replay.cursor) - events(of: app, after: replay.until))
    }
}
