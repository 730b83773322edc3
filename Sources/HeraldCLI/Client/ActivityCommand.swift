import HeraldJSON

extension Command {
    static let stats = Command(
        name: "stats", summary: "show the numbers of events and attempts over time",
        flags: [
            Flag("interval", "INTERVAL", "5min, hour or day. Default: hour.", values: ["5min", "hour", "day"]),
            Flag(
                "since", "TIME", "The begin of the period. Default: 24 hours ago; an hour with 5min, 30 days with day.",
                time: .past),
            Flag("until", "TIME", "The end of the period. Default: now.", time: .past),
            Flag("type", "TYPE", "Only events of this type."),
            Flag("delegate", "ID", "Only attempts of this delegate."),
            Flag("all-apps", nil, "The sum of all apps, for admin keys."),
            Flag("types", nil, "One line for each event type instead."),
        ] + Flags.client,
        examples: ["herald stats --since 7d --interval day", "herald stats --types"],
        action: .run { call throws(CommandError) in
            let byType = call.has("types")
            if byType, let other = ["type", "delegate", "all-apps"].first(where: call.has) {
                throw CommandError("--types and --\(other) can't be combined.")
            }
            let query: [(String, String?)] =
                try call.query("interval", "since", "until", "type") + call.resources()
                + [("apps", call.has("all-apps") ? "all" : nil), ("limit", byType ? "200" : nil)]
            let answer = try APIClient(call).send("GET", ["v1", "stats"] + (byType ? ["types"] : []), query: query)
            if call.has("json") { return try Output.line(json: answer.body) }
            var table = Table(byType ? .text("TYPE") : "SINCE", "EVENTS", "DELIVERED", "FAILED")
            let rows = answer.json.list("data")
            if rows.isEmpty { return Output.message("No events.\n") }
            try table.print(
                rows.map { row in
                    let name = byType ? row["type"]?.string ?? "others" : row.text("start")
                    return [Table.Cell(name)] + row.cells("events", "delivered", "failed")
                })
        })
}
