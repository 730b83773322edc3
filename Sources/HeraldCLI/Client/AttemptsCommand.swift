import HeraldJSON

extension Command {
    static let attempts = Command(
        name: "attempts", summary: "show attempts to deliver as they end",
        details: """
            Connects again when the connection is lost, and resumes. Ctrl-C ends it with exit code 130, TERM with 0.
            `herald delegates attempts` lists those of a delegate that have ended.
            """,
        flags: [
            Flag("delegate", "ID", "Only attempts to call this delegate."),
            Flag("event", "ID", "Only attempts to deliver this event."),
            Flags.outcome,
            Flag(
                "after", "ID|earliest", "Begin in the past: after this attempt, or with the oldest one.",
                member: "last_event_id"),
            Flags.output,
        ] + Flags.client,
        examples: ["herald attempts --outcome failed", "herald attempts --json | jq .error"],
        action: .run { call throws(CommandError) in
            var printer = LivePrinter<JSONValue>(
                isJSON: call.has("json"), interruption: try Interruption(),
                table: AttemptRow.table(.id("EVENT"), isLive: true).formed(call),
                row: { AttemptRow.cells($0, about: $0.text("event"), isLive: true) }, json: { $0.bytes })
            let filters = try call.resources() + call.query("outcome")
            var live = LiveEvents(try APIClient(call), .attempts, filters: filters, after: call["after"])
            try live.run { attempt throws(CommandError) in try printer.print([attempt]) }
        })
}
