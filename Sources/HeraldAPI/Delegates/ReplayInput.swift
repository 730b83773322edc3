import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel

/// A request to send past events again: `{"from", "until", "only"}`.
struct ReplayInput: Sendable {
    private static let fields = ["from", "until", "only"]

    let plan: ReplayPlan

    init(_ document: JSONDocument) throws(Problem) {
        var reader = FieldReader(document, fields: Self.fields)
        var from = PositionInput.earliest
        if let value = document.nonNull("from"), value.string != "now" {
            from = reader.place(value, "/from", words: "\"earliest\", \(PositionInput.words)")
        } else {
            reader.wrong("/from", "is required: \"earliest\", \(PositionInput.words)")
        }
        let until = reader.member("until") { $0.place($1, $2, words: "\"now\", \(PositionInput.words)") }
        let only = reader.member("only") { $0.choice($1, $2, default: ReplayPlan.Only.all) }
        plan = ReplayPlan(from: from, until: until ?? .now, only: only ?? .all)
        reader.wrong(plan.errors)
        try reader.check()
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

    /// 202 for a request, also if there is nothing to do; 200 for a dry run.
    /// - Parameter id: `nil` if there is no replay to follow.
    func response(_ backlog: Backlog, id: String? = nil, isDryRun: Bool = false) -> Response {
        .json(status: isDryRun ? 200 : 202) {
            $0.member("id", id)
            $0.member("only", plan.only.rawValue)
            $0.members(of: backlog)
            $0.member("dry_run", isDryRun)
        }
    }
}
