import HeraldJSON

extension Command {
    static let deliveries = Command(
        name: "deliveries", summary: "list and count deliveries, repeat or cancel them",
        action: .group([
            listing(
                name: "list", summary: "list deliveries that wait, are exhausted, or were dropped",
                details:
                    "Without --state: those that are retrying, exhausted or dropped.\nPending ones have no attempt yet, since a delegate "
                    + "is paused or slow.",
                flags: filters("pending", "retrying", "delivered", "exhausted", "dropped"),
                examples: ["herald deliveries list --since 1h --status exhausted --error timeout"],
                path: { _ in ["v1", "deliveries"] }, query: conditions, none: "No such deliveries.",
                Table(
                    .id("EVENT"), .text("TYPE"), .id("DELEGATE").detail, "STATE", "TRIES", .text("LAST ERROR"),
                    .time("NEXT"), .url("URL"), .text("REASON").detail),
                row: deliveryRow),
            Command(
                name: "counts", summary: "count deliveries in one state by delegate",
                details: "Without --state: those in the state exhausted.",
                flags: filters("retrying", "exhausted", "dropped") + Flags.client,
                examples: ["herald deliveries counts --status exhausted --error 5xx"],
                action: .run(countDeliveries)),
            Command(
                name: "redeliver", summary: "repeat deliveries",
                flags: filters("retrying", "exhausted", "dropped") + [Flags.dryRun, Confirmation.flag] + Flags.client,
                examples: ["herald deliveries redeliver --status exhausted --failed-since 2h --dry-run"],
                action: .run { call throws(CommandError) in
                    try act(call, "redeliver", "Repeat", "Deliveries to repeat")
                }),
            Command(
                name: "cancel", summary: "cancel deliveries that wait for their next attempt",
                details: "Deliveries without any attempt, such as those of a paused delegate, are not cancelled.",
                flags: filters("retrying") + [Flags.dryRun, Confirmation.flag] + Flags.client,
                action: .run { call throws(CommandError) in
                    try act(call, "cancel", "Cancel", "Deliveries cancelled")
                }),
        ]))

    private static func filters(_ states: String...) -> [Flag] {
        [
            Flag("state", "STATE", "Only those in this state: \(states.joined(separator: ", ")).", values: states),
            Flag("status", "STATE", "Another name of --state.", values: states),
            Flag("delegate", "ID", "Only those to this delegate."),
            Flag("event", "ID", "Only those of this event."),
            Flag(
                "type", "PATTERNS", "Only those of events of these types, such as order.* or order.paid,order.shipped."),
            Flag("subject", "TEXT", "Only those of events with this subject."),
            Flag(
                "error", "ERRORS", "Only those whose last attempt ended so: timeout, 503, 5xx; or several, with commas."
            ),
            Flag("failed-since", "TIME", "Only those whose last attempt failed at this time or later.", time: .past),
            Flag(
                "since", "TIME",
                "Only those of events accepted at this time or later, such as 2h or 2026-01-31T12:00:00Z.", time: .past),
            Flag("until", "TIME", "Only those of events accepted at this time or before.", time: .past),
        ]
    }

    /// The number of deliveries that one request changes: progress is shown after each.
    private static let changesPerRequest = 1_000

    private static func deliveryRow(_ delivery: JSONValue) -> [Table.Cell] {
        delivery.cells("event", "type", "delegate", "state", "attempts") + [Table.Cell(lastError(delivery))]
            + delivery.cells("next_attempt_at", "url", "reason")
    }

    /// The status of the last attempt, or why there was none.
    private static func lastError(_ delivery: JSONValue) -> String {
        delivery.text("state") == "delivered"
            ? "" : delivery["status_code"]?.isNull == false ? delivery.text("status_code") : delivery.text("error")
    }

    private static func countDeliveries(_ call: Invocation) throws(CommandError) {
        var sums: [String: (deliveries: Int64, row: [Table.Cell])] = [:]
        var total: Int64 = 0
        try each("GET", "counts", call, [("limit", "200")]) { answer throws(CommandError) in
            if call.has("json") { return try Output.line(json: answer.body) }
            total = sum(total, answer.json["deliveries"])
            for entry in answer.json.list("data") {
                let id = entry.text("delegate")
                // The newest come first: the last error is that of the first part.
                let row = sums[id]?.row ?? [Table.Cell(lastError(entry))] + entry.cells("url")
                sums[id] = (sum(sums[id]?.deliveries ?? 0, entry["deliveries"]), row)
            }
        }
        if call.has("json") { return }
        if total == 0 {
            let isNamed = call.has("state") || call.has("status")
            return Output.message(
                isNamed
                    ? "No such deliveries.\n"
                    : "No exhausted deliveries; --state retrying or --state dropped counts others.\n")
        }
        var table = Table("DELEGATE", "DELIVERIES", .text("LAST ERROR"), .url("URL"))
        let sorted = sums.sorted { ($0.value.deliveries, $1.key) > ($1.value.deliveries, $0.key) }
        try table.print(sorted.map { [.init($0.key), .init("\($0.value.deliveries)")] + $0.value.row })
        try Output.line("\(total) in all.")
    }

    /// Counts, requests confirmation, and changes part by part, so that an interruption ends it between two parts.
    /// - Parameter verb: the last part of the path.
    private static func act(
        _ call: Invocation, _ verb: String, _ question: String, _ words: String
    ) throws(CommandError) {
        let isNamed = call["delegate"] != nil || call["event"] != nil
        if call.has("dry-run") || !call.has(Confirmation.flag.name) {
            var count: Int64 = 0
            try each("POST", verb, call, [("dry_run", "true")]) { answer throws(CommandError) in
                count = sum(count, answer.json["deliveries"])
                if call.has("dry-run") && call.has("json") { try Output.line(json: answer.body) }
            }
            if call.has("dry-run") {
                return call.has("json") ? () : try Output.line("\(words): \(count) (dry run).")
            }
            if count > 0 { try Confirmation.ask(call, isNamed: isNamed) { "\(question) \(count) deliveries?" } }
        }
        var changed: Int64 = 0
        try each("POST", verb, call, [("limit", "\(changesPerRequest)")]) { answer throws(CommandError) in
            changed = sum(changed, answer.json["deliveries"])
            if call.has("json") { return try Output.line(json: answer.body) }
            if answer.json["next_cursor"]?.isNull == false { Output.message("\(words): \(changed) so far.\n") }
        }
        if !call.has("json") { try Output.line("\(words): \(changed).") }
    }

    /// The server chooses the numbers, so their sum is bounded.
    private static func sum(_ count: Int64, _ added: JSONValue?) -> Int64 {
        let (sum, isTooLarge) = count.addingReportingOverflow(added?.integer ?? 0)
        return isTooLarge ? .max : sum
    }

    /// Sends requests until the server has no `next_cursor`.
    private static func each(
        _ method: String, _ path: String, _ call: Invocation, _ more: [(String, String?)],
        _ take: (APIClient.Answer) throws(CommandError) -> Void
    ) throws(CommandError) {
        let client = try APIClient(call)
        let query = try conditions(call) + more
        var cursor: String?
        repeat {
            let answer = try client.send(method, ["v1", "deliveries", path], query: query + [("cursor", cursor)])
            try take(answer)
            let next = answer.json["next_cursor"]?.string
            cursor = next == cursor ? nil : next
        } while cursor != nil
    }

    private static func conditions(_ call: Invocation) throws(CommandError) -> [(String, String?)] {
        try [("state", call["state"] ?? call["status"])] + call.resources()
            + call.query("type", "subject", "error", "since", "until", "failed-since")
    }
}
