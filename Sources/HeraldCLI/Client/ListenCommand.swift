import HeraldJSON

extension Command {
    static let listen = Command(
        name: "listen", summary: "show events as they are published, or forward them to a URL",
        details: """
            Resumes after a lost connection. Ctrl-C ends it with exit code 130, TERM with 0.

            --forward-to sends each event to a URL, such as a port of this machine that the server cannot reach. Each request
            is signed, and has the headers and the body of a delivery to a webhook in the format "standard". Requests are sent
            in order, one at a time. A line shows each response. Any response within 60 seconds is accepted. If the connection
            fails, an event is tried \(Forwarder.maxTries) times within a minute, and later events wait. Then the command
            continues with the next event.
            """,
        flags: [
            Flag("events", "LIST", "Only these types: order.paid,auth.*"),
            Flag("subjects", "LIST", "Only events about these subjects."),
            Flag(
                "after", "ID|TIME|earliest",
                "Begin in the past: after this event, at this time, 1h ago, or with the oldest event.", time: .past,
                member: "last_event_id"),
            Flag("forward-to", "URL", "Send each event there: localhost:3000/hooks"),
            Flag(
                "secret", "KEY",
                "With --forward-to: the whsec_ secret that signs. Default: a new one, which is printed."),
            DelegateField.secretFile,
            Flag("json", nil, "Print JSON, one document per line: the events, or the response to each."),
        ] + Flags.connection,
        examples: [
            "herald listen --events 'order.*'",
            "herald listen --forward-to localhost:3000/hooks",
            "herald listen --json | jq .data",
        ],
        action: .run(listenToEvents))

    static let tail = Command(
        name: "tail", summary: "show the newest events, and then those that are published",
        details: """
            Shows the oldest event first, without a gap between stored and new events. Resumes after a lost connection.
            """,
        flags: [
            Flag("lines", "NUMBER", "How many events to begin with. Default: 10.", letter: "n"),
            Flag("type", "TYPES", "An exact type, or a prefix such as auth.*; or several, with commas."),
            Flag("subject", "SUBJECT", "Only events about this subject."),
        ] + Flags.client,
        examples: ["herald events tail -n 50 --type 'auth.*'"],
        action: .run(showTail))

    private static func listenToEvents(_ call: Invocation) throws(CommandError) {
        guard call.has("forward-to") else {
            if let flag = ["secret", "secret-file"].first(where: call.has) {
                throw CommandError("--\(flag) signs what is forwarded: --forward-to is missing.")
            }
            var printer = try eventPrinter(call)
            return try follow(call) { event throws(CommandError) in try printer.print([event]) }
        }
        let tally = ForwardingTally()
        let interruption = try Interruption { Output.message(tally.summary) }
        let forwarder = try Forwarder(call, tally)
        let table = Table("TIME", "EVENT", .text("TYPE"), "RESPONSE", "MS", .text("DETAIL"))
        var printer = LivePrinter<Forwarder.Result>(
            isJSON: call.has("json"), interruption: interruption, table: table, row: { $0.row }, json: { $0.json })
        forwarder.introduce()
        try follow(call) { event throws(CommandError) in try printer.print([try forwarder.forward(event)]) }
    }

    private static func eventPrinter(_ call: Invocation) throws(CommandError) -> LivePrinter<JSONValue> {
        LivePrinter(
            isJSON: call.has("json"), interruption: try Interruption(), table: EventRow.table,
            row: { EventRow.cells($0, time: EventRow.clock($0.text("time"))) }, json: { $0.bytes })
    }

    private static func showTail(_ call: Invocation) throws(CommandError) {
        let count = try call.number("lines", 0...10_000) ?? 10
        let (types, subject) = (call.list("type")?.joined(separator: ","), call["subject"])
        if subject?.contains(",") == true {
            throw CommandError("Events about a subject with a comma can't be followed, only listed.")
        }
        var printer = try eventPrinter(call)
        let client = try APIClient(call)
        // The newest event of the log, so that there is no gap if no event matches.
        var newest: [JSONValue] = []
        try client.pages(["v1", "events"], query: [], limit: 1) { newest += $0 }
        var events: [JSONValue] = []
        if count > 0 {
            let query = [("type", types), ("subject", subject)]
            try client.pages(["v1", "events"], query: query, limit: count) { events += $0 }
        }
        try printer.print(events.reversed())
        // An event may have the name of a position as its id. After "earliest", the whole log would be printed again.
        let ids = (events + newest).map { $0.text("id") }
        let place = ids.first { $0 != "now" && $0 != "earliest" } ?? (ids.isEmpty ? "earliest" : "now")
        var following = LiveEvents(client, filters: [("events", types), ("subjects", subject)], after: place)
        try following.run { event throws(CommandError) in try printer.print([event]) }
    }

    private static func follow(
        _ call: Invocation, _ each: (JSONValue) throws(CommandError) -> Void
    ) throws(CommandError) {
        let filters = ["events", "subjects"].map { ($0, call.list($0)?.joined(separator: ",")) }
        var events = LiveEvents(try APIClient(call), filters: filters, after: try call.id("after", of: .events))
        try events.run(each)
    }
}
