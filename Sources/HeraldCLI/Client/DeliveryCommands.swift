import HeraldJSON

extension Command {
    static let deliveries = Command(
        name: "deliveries", summary: "list deliveries that failed or wait, repeat or cancel them",
        action: .group([
            Command(
                name: "list", summary: "list deliveries that wait, are exhausted, or were dropped",
                flags: filters("pending", "retrying", "exhausted", "dropped") + [Flags.limit, Flags.everything]
                    + Flags.client, examples: ["herald deliveries list --state exhausted"],
                action: .run(DeliveryCommands.list)),
            Command(
                name: "redeliver", summary: "repeat deliveries",
                flags: filters("retrying", "exhausted", "dropped") + [Flags.dryRun] + Flags.client,
                examples: ["herald deliveries redeliver --state exhausted --dry-run"],
                action: .run { call throws(CommandError) in
                    try DeliveryCommands.act(call, "redeliver", "Deliveries to repeat")
                }),
            Command(
                name: "cancel", summary: "cancel deliveries that wait for their next attempt",
                flags: filters("retrying") + [Flags.dryRun] + Flags.client,
                action: .run { call throws(CommandError) in
                    try DeliveryCommands.act(call, "cancel", "Deliveries cancelled")
                }),
        ]))

    private static func filters(_ states: String...) -> [Flag] {
        [
            Flag(
                name: "state", placeholder: "STATE",
                help: "Only those in this state: \(states.joined(separator: ", ")).",
                values: states),
            Flag(name: "delegate", placeholder: "ID", help: "Only those to this delegate."),
            Flag(name: "event", placeholder: "ID", help: "Only those of this event."),
            Flag(
                name: "since", placeholder: "TIME",
                help: "Only those of events accepted at this time or later, such as 2h or 2026-01-31T12:00:00Z.",
                time: .past),
            Flag(
                name: "until", placeholder: "TIME", help: "Only those of events accepted at this time or before.",
                time: .past),
        ]
    }
}

private enum DeliveryCommands {
    static func list(_ call: Invocation) throws(CommandError) {
        try Listing.print(
            call, ["v1", "deliveries"], query: filters(call), none: "No such deliveries.",
            Table(
                "EVENT", .text("TYPE"), "DELEGATE", "STATE", "ATTEMPTS", "NEXT ATTEMPT", .text("URL"), .text("REASON"))
        ) { delivery in
            [
                .init(delivery.text("event")), .init(delivery.text("type")), .init(delivery.text("delegate")),
                .init(state: delivery.text("state")), .init(delivery.text("attempts")),
                .init(delivery.text("next_attempt_at")), .init(delivery.text("url")), .init(delivery.text("reason")),
            ]
        }
    }

    static func act(_ call: Invocation, _ verb: String, _ words: String) throws(CommandError) {
        let query = filters(call) + [("dry_run", call.has("dry-run") ? "true" : nil)]
        let answer = try APIClient(call).send("POST", ["v1", "deliveries", verb], query: query)
        let more = answer.json["more"]?.bool == true ? " There are more: do it again for the rest." : ""
        let dry = call.has("dry-run") ? " (dry run)" : ""
        try Listing(call).print(answer, "\(words): \(answer.json.text("deliveries"))\(dry).\(more)")
    }

    private static func filters(_ call: Invocation) -> [(String, String?)] {
        ["state", "delegate", "event", "since", "until"].map { ($0, call[$0]) }
    }
}
