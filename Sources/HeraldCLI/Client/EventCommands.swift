import HeraldJSON
import HeraldRuntime

extension Command {
    static let events = Command(
        name: "events", summary: "read the log of events, and follow it",
        action: .group([
            listing(
                name: "list", summary: "list events, newest first",
                flags: [
                    Flag("type", "TYPES", "An exact type, or a prefix such as auth.*; or several, with commas."),
                    Flag("subject", "SUBJECT", "Only events about this subject."),
                    Flag("id-prefix", "TEXT", "Only events whose id begins with this text."),
                    Flag(
                        "filter", "JSON",
                        "Only events with this content, as in a delegate's filter: '{\"data\": {\"plan\": [\"pro\"]}}'"),
                    Flag(
                        "delivery", "STATE",
                        "Only events with a delivery in this state: retrying, exhausted or dropped."),
                    Flag(
                        "since", "TIME", "Not before this time: 2026-11-21T11:50:00Z, or 1h for an hour ago.",
                        time: .past),
                    Flag("until", "TIME", "At this time or before.", time: .past),
                ],
                examples: [
                    "herald events list --type 'auth.*' --json | jq .data.user",
                    "herald events list --since 36h --until 12h",
                ],
                path: { _ in ["v1", "events"] },
                query: { $0.query("type", "subject", "since", "until", "filter", "delivery", "id-prefix") },
                none: "No events.", EventRow.table, row: EventRow.cells),
            Command(
                name: "feed", summary: "read the log forward, one page: for programs that keep their position",
                details: """
                    Prints the events after a position, oldest first, and the position for the next call. With --json that is the
                    response of the server on one line: .data, .next, and .more if the next page is there already.
                    """,
                flags: [
                    Flag(
                        "after", "POSITION|ID|TIME|earliest|now",
                        "The .next of the last call; or where to begin. Default: now.", time: .past),
                    Flag("wait", "SECONDS", "Without a matching event, wait for one, up to 60 seconds."),
                    Flag("type", "TYPE", "An exact type, or a prefix such as auth.*"),
                    Flag("subject", "SUBJECT", "Only events about this subject."),
                    Flag("limit", "NUMBER", "At most so many events, 1 to 200. Default: 50."),
                ] + Flags.client,
                examples: ["herald events feed --after earliest --json | jq -r .next"],
                action: .run { call throws(CommandError) in
                    let after = try call.id("after", of: .events) ?? "now"
                    let query = call.query("wait", "type", "subject", "limit") + [("after", after)]
                    let answer = try APIClient(call).send("GET", ["v1", "events"], query: query)
                    if call.has("json") { return try Output.line(json: answer.body) }
                    let events = answer.json.list("data")
                    var table = EventRow.table.formed(call)
                    if !events.isEmpty { try table.print(events.map(EventRow.cells)) }
                    if answer.json["truncated"]?.bool == true {
                        Output.message("Events after the position were removed.\n")
                    }
                    Output.message("Next: --after \(answer.json.text("next").printable())\n")
                }),
            Command(
                name: "show", summary: "show one event, with its deliveries and their attempts",
                arguments: [eventID], flags: [Flags.output] + Flags.client, action: .run(showEvent)),
            Command(
                name: "redeliver", summary: "send an event again",
                details:
                    "To all delegates to which it was sent or for which it waits, if they still match; also to those that\n"
                    + "have accepted it. Only to those that did not:\n"
                    + "`herald deliveries redeliver --event ID --state exhausted`. To one that was added later: --delegate.",
                arguments: [eventID],
                flags: [
                    Flag("delegate", "ID", "Only to this delegate, also if it does not match.")
                ] + Flags.client,
                action: .run { call throws(CommandError) in
                    let delegate = try call.id("delegate", of: .delegates)
                    let body = JSONWriter.document { $0.member("delegate", ifPresent: delegate) }
                    let id = try ShortID.events.resolve(call.arguments[0], call)
                    try Listing.report(call, "POST", ["v1", "events", id, "redeliver"], body: body) {
                        "Deliveries to repeat: \($0.text("deliveries"))."
                    }
                }),
            tail, scheduled, reschedule, cancel, refused,
        ]))

    static let eventID = Argument(name: "ID", help: "The event: evt_..., or the id that it was published with.")

    private static func showEvent(_ call: Invocation) throws(CommandError) {
        let listing = Listing(call)
        let id = try ShortID.events.resolve(call.arguments[0], call)
        let answer = try APIClient(call).send("GET", ["v1", "events", id])
        guard !listing.isJSON else { return try listing.print(answer) }
        try listing.print(fields: answer.json, without: ["deliveries", "data"])
        try Output.line("data  " + (answer.json["data"]?.compactText ?? "").printable() + "\n")
        let deliveries = answer.json.list("deliveries")
        guard !deliveries.isEmpty else { return try Output.line(whyNoDelivery(answer.json)) }
        var shown = Table(
            .id("DELEGATE"), "STATE", "TRIES", .time("NEXT"), .url("URL"), .text("REASON")
        ).formed(call)
        try shown.print(
            deliveries.map { $0.cells("delegate", "state", "attempts", "next_attempt_at", "url", "reason") })
        let attempts = deliveries.flatMap { delivery in
            delivery.list("history").map { (delivery.text("delegate"), $0) }
        }
        guard !attempts.isEmpty else { return }
        try Output.line("")
        var timeline = AttemptRow.table(.id("DELEGATE")).formed(call)
        // Times of the same format sort as text.
        try timeline.print(
            attempts.sorted { $0.1.text("started_at") < $1.1.text("started_at") }
                .map { AttemptRow.cells($0.1, about: $0.0) })
    }

    private static func whyNoDelivery(_ event: JSONValue) -> String {
        if event.text("state") == "scheduled" {
            let time = event.text("deliver_at").printable()
            return "It is published at \(time). Its delegates are those that match then."
        }
        return event["attributes"]?["herald.erased"] == nil
            ? "No delegate matched." : "The event was erased, and with it what was known of its deliveries."
    }
}

enum EventRow {
    static var table: Table { Table(.time("TIME"), "ID", .text("TYPE"), .text("SUBJECT"), .text("DATA")) }

    /// A time without the date of today, which saves space on a narrow screen.
    static func clock(_ time: String) -> String {
        let today = Timestamp(milliseconds: Clock.system.wall()).description.prefix(11)
        return time.hasPrefix(today) ? String(time.dropFirst(11).prefix(12)) : time
    }

    static func cells(_ event: JSONValue) -> [Table.Cell] { cells(event, time: event.text("time")) }

    static func cells(_ event: JSONValue, time: String) -> [Table.Cell] {
        let data = Table.Cell(event["data"]?.compactText ?? "")
        return [Table.Cell(time, .faint)] + event.cells("id", "type", "subject") + [data]
    }
}
