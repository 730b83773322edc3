import HeraldHTTP
import HeraldJSON
import HeraldRuntime

extension Command {
    static let publish = Command(
        name: "publish", summary: "publish an event, or many from standard input",
        details: """
            Returns when the event is on disk. With --ndjson, standard input has one event per line, in the format of the API:
            {"type": "order.paid", "subject": "order:1001", "data": {"amount": 12.5}}. They are published in batches. A batch is
            repeated while the server is busy, or is lost after an earlier one. The command ends at a batch that is refused, and
            reports how many events are on disk.
            """,
        arguments: [Argument(name: "TYPE", help: "The type of the event: order.paid.", isOptional: true)],
        flags: [
            Flag("data", "JSON|@FILE|-", "The data: as JSON, from a file, or - for standard input."),
            Flag("subject", "SUBJECT", "What it is about: order:1001."),
            Flag("id", "ID", "An id of your own. Publishing it again notifies no delegate twice."),
            Flag("time", "TIME", "When it happened; 5m: five minutes ago. Default: now.", time: .past),
            Flag(
                "at", "TIME", "Publish it at this time, at most 366 days ahead; 2h: in two hours.", time: .future,
                member: "deliver_at"),
            Flag("wait", "SECONDS", "Wait until every matching delegate was called, and report the results."),
            Flag("dry-run", nil, "Publish nothing. Report which delegates match, and why the others do not."),
            Flag("ndjson", nil, "Read events from standard input, one per line."),
        ] + Flags.client,
        examples: [
            #"herald publish order.paid --subject order:1001 --data '{"amount": 12.5}'"#,
            "herald publish report.made --data @report.json",
            "herald publish trial.ending --id trial-42 --at 2026-12-24T09:00:00Z",
            "herald publish --ndjson < events.ndjson",
        ],
        action: .run { call throws(CommandError) in
            guard call.has("ndjson") else { return try publishOne(call) }
            let others = ["data", "subject", "id", "time", "at", "wait", "dry-run"].filter(call.has)
            guard call.arguments.isEmpty, others.isEmpty else {
                throw CommandError(
                    "With --ndjson the lines contain whole events: leave out the type and --"
                        + (others.first ?? "data") + ".")
            }
            var publisher = BatchPublisher(call, try APIClient(call))
            try publisher.run()
        })

    static let trigger = Command(
        name: "trigger", summary: "publish the example of an event type, to test receivers",
        details: "`herald event-types set TYPE --example JSON` sets the example.",
        arguments: [Argument(name: "TYPE", help: "The type of the event: order.paid.")],
        flags: [
            Flag("subject", "SUBJECT", "What it is about: order:1001."),
            Flag("wait", "SECONDS", "Wait until every matching delegate was called, and report the results."),
            Flag("dry-run", nil, "Publish nothing. Report which delegates match, and why the others do not."),
        ] + Flags.client,
        examples: ["herald trigger order.paid --wait 10"],
        action: .run(publishExample))

    private static func publishExample(_ call: Invocation) throws(CommandError) {
        let type = call.arguments[0]
        let client = try APIClient(call)
        let description = try description(of: type, client)
        guard let example = description["example"], !example.isNull else {
            throw CommandError(
                "The description of \(type) has no example: `herald event-types set \(type) --example JSON` sets one."
                    .printable(), exitCode: ExitCode.refused)
        }
        try send(call, client, type: type, data: example)
    }

    private static func description(of type: String, _ client: APIClient) throws(CommandError) -> JSONValue {
        let response = try client.ask("GET", ["v1", "event-types", type])
        if response.status == 200 { return try client.document(response.body).root }
        let problem = Problem(response, to: client)
        guard problem.name == "not-found", problem.detail?.holds("GET /") == false else { throw problem.error }
        throw CommandError(
            "\(type) has no description, and so no example: `herald event-types set \(type) --example JSON` sets one."
                .printable(), exitCode: ExitCode.refused)
    }

    private static func publishOne(_ call: Invocation) throws(CommandError) {
        guard let type = call.arguments.first else {
            throw CommandError("TYPE is missing: herald publish TYPE, or herald publish --ndjson.")
        }
        let data = try call.json("data")
        try send(call, try APIClient(call), type: type, data: data)
    }

    private static func send(
        _ call: Invocation, _ client: APIClient, type: String, data: (some JSONWritable)?
    ) throws(CommandError) {
        let wait = try call.number("wait", 1...60)
        let body = JSONWriter.document {
            $0.member("type", type)
            $0.member("subject", ifPresent: call["subject"])
            $0.member("id", ifPresent: call["id"])
            $0.member("time", ifPresent: call["time"])
            $0.member("deliver_at", ifPresent: call["at"])
            $0.member("data", ifPresent: data)
        }
        let answer = try client.send(
            "POST", ["v1", "events"], query: [("dry_run", call.has("dry-run") ? "true" : nil)], body: body,
            headers: wait.map { [("Prefer", "wait=\($0)")] } ?? [])
        let listing = Listing(call)
        if listing.isJSON { return try listing.print(answer) }
        if call.has("dry-run") { return try explain(answer.json) }
        let isOld = answer.json["duplicate"]?.bool == true
        let isScheduled = answer.json["state"]?.isString("scheduled") == true
        let time = answer.json.text("deliver_at")
        let words =
            switch (isOld, isScheduled) {
            case (false, false): ""
            case (true, false): " was published before; no delegate was notified again"
            case (false, true): " is published at \(time)"
            case (true, true): " was scheduled before, for \(time)"
            }
        try Output.line((answer.json.text("id") + words).printable())
        try warn(answer.json)
        guard let deliveries = answer.json["deliveries"] else {
            if wait != nil && !isOld && !isScheduled { Output.message("Not every delegate was called in time.\n") }
            return
        }
        var table = Table(.id("DELEGATE"), "STATE", "STATUS", "MS", .text("ERROR"))
        try table.print(
            deliveries.elements.map { $0.cells("delegate", "state", "status_code", "latency_ms", "error") })
    }

    private static func warn(_ answer: JSONValue) throws(CommandError) {
        let differences = answer.list("differs").compactMap(\.string)
        if !differences.isEmpty {
            Output.message(
                "warning: the event on disk has other values, which count: \(differences.joined(separator: ", "))"
                    .printable() + "\n")
        }
        for warning in answer.list("warnings") {
            Output.message("warning: \(warning.text("pointer")) \(warning.text("detail"))".printable() + "\n")
        }
    }

    private static func explain(_ answer: JSONValue) throws(CommandError) {
        var table = Table(.id("DELEGATE"), "MATCHES", .url("URL"), .text("REASON"))
        try table.print(
            answer.list("delegates").map {
                let isMatching = $0["matches"]?.bool == true
                let matches = Table.Cell(isMatching ? "yes" : "no", isMatching ? .good : .faint)
                let reason = [$0.text("clause"), $0.text("reason")].filter { !$0.isEmpty }.joined(separator: " ")
                return $0.cells("delegate") + [matches] + $0.cells("url") + [Table.Cell(reason)]
            })
        let (matching, others) = (answer.text("matching"), answer.text("not_matching"))
        try Output.line("\(matching) would receive it, \(others) would not.".printable())
    }
}
