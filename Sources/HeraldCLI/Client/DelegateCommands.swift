import HeraldJSON
import HeraldRuntime

extension Command {
    static let delegates = Command(
        name: "delegates", summary: "list and change delegates: webhooks and other consumers of events",
        action: .group([
            listing(
                name: "list", summary: "list the delegates, newest first",
                details: "Those of kind in_memory are parts of the server. --kind webhook lists webhooks alone.",
                flags: [
                    Flag(
                        "kind", "KIND", "Only delegates of this kind: webhook, pull, stream, in_memory.",
                        values: ["webhook", "pull", "stream", "in_memory"]),
                    Flag(
                        "status", "STATUS", "Only delegates with this status.",
                        values: ["active", "paused", "pending_verification", "failing", "disabled", "gone"]),
                    Flag("event", "TYPE", "Only delegates whose patterns match this type of event."),
                ],
                examples: ["herald delegates list --status failing"], path: { _ in ["v1", "delegates"] },
                query: { $0.query("kind", "status", "event") }, none: "No delegates.",
                Table("ID", "KIND", "STATUS", "LAG", .text("EVENTS"), .url("URL")), row: delegateRow),
            Command(
                name: "add", summary: "register a webhook, or with --kind pull a delegate without a URL",
                details: """
                    Sends events that match to the URL from now on. Prints the secret that signs the callbacks; it is shown only once.
                    The same URL with the same settings is the same delegate. Others with the URL get other events, or other requests.
                    """,
                arguments: [Argument(name: "URL", help: "The URL to call.", isOptional: true)],
                flags: DelegateField.of(.registration).map(\.flag) + [DelegateField.secretFile] + Flags.client,
                examples: [
                    "herald delegates add https://example.com/hooks --events 'order.*,auth.logged_in'",
                    "herald delegates add --kind pull --events 'order.*'",
                    #"herald delegates add http://127.0.0.1:9000/ --filter '{"data": {"plan": ["pro"]}}'"#,
                ], action: .run(addDelegate)),
            Command(
                name: "show", summary: "show one delegate", arguments: [delegateID], flags: Flags.client,
                action: .run { call throws(CommandError) in try Listing.show(call, "GET", delegatePath(call)) }),
            Command(
                name: "change", summary: "change a webhook",
                details: "Changes only the settings that you give. The value \"default\" resets one.",
                arguments: [delegateID], flags: DelegateField.of(.change).map(\.flag) + Flags.client,
                examples: ["herald delegates change dlg_01M7YZ2J61B6WSJHG4TYRGWBTV --rate-limit 10"],
                action: .run { call throws(CommandError) in
                    try Listing.show(call, "PATCH", delegatePath(call), body: try DelegateField.body(call, .change))
                }),
            Command(
                name: "remove", summary: "remove delegates",
                details: "Deliveries stop at once. An open one may still arrive.",
                arguments: [Argument(name: "ID", help: "The delegates: dlg_...", isOptional: true, repeats: true)],
                flags: [Flag("all", nil, "All webhooks and pull delegates."), Confirmation.flag] + Flags.client,
                action: .run(removeDelegates)),
            Command(
                name: "pause", summary: "stop deliveries to a delegate; it gets the events later",
                arguments: [delegateID], flags: Flags.client,
                action: .run { call throws(CommandError) in try act(call, "pause") }),
            Command(
                name: "resume", summary: "resume deliveries to a delegate", arguments: [delegateID],
                flags: Flags.client, action: .run { call throws(CommandError) in try act(call, "resume") }),
            Command(
                name: "test", summary: "send an event to a webhook now and report the result",
                details:
                    "Without --event and --type, it is a herald.test. Exits 0 if the receiver responds with 2xx, else 1.",
                arguments: [delegateID], flags: Flags.sample + Flags.client,
                action: .run(testDelegate)),
            Command(
                name: "preview", summary: "show the request that a webhook makes of an event; nothing is sent",
                details: """
                    For a delegate, with changed settings if you give some, or for a URL with the settings of a registration.
                    Without --event and --type, the event is made up. Secrets are shown as ***.
                    """,
                arguments: [Argument(name: "ID|URL", help: "The delegate: dlg_..., or a URL to call.")],
                flags: Flags.sample + DelegateField.of(.registration).map(\.flag) + [DelegateField.secretFile]
                    + Flags.client,
                examples: ["herald delegates preview https://hooks.slack.com/services/T0/B0/x --preset slack"],
                action: .run(previewRequest)),
            Command(
                name: "renew", summary: "renew the lease of a delegate", arguments: [delegateID], flags: Flags.client,
                action: .run { call throws(CommandError) in
                    try Listing.report(call, "POST", delegatePath(call, "renew")) {
                        "\($0.text("id")) stays until \($0.text("expires_at"))."
                    }
                }),
            Command(
                name: "replay", summary: "send past events to a delegate again",
                details: "New events are sent as well. Events that were delivered before may arrive again.",
                arguments: [delegateID],
                flags: [
                    Flag(
                        "from", "ID|TIME|earliest", "Required: the first event, by its id or time; 1d: a day ago.",
                        time: .past),
                    Flag("until", "ID|TIME|now", "The last event. Default: now.", time: .past),
                    Flag(
                        "only", "WHICH",
                        "all, or failed: only events whose deliveries failed, the newest 10,000 at most. Default: all.",
                        values: ["all", "failed"]),
                    Flags.dryRun,
                ] + Flags.client,
                examples: ["herald delegates replay dlg_01M7YZ2J61B6WSJHG4TYRGWBTV --from 2026-11-21T11:50:00Z"],
                action: .run(replayEvents)),
            listing(
                name: "replays", summary: "list the replays of a delegate that have not ended, oldest first",
                arguments: [delegateID],
                path: { call throws(CommandError) in try delegatePath(call, "replays") },
                none: "No replays.", Table("ID", .time("BEGAN"), "PROGRESS", "EVENTS"),
                row: replayRow),
            Command(
                name: "end-replay", summary: "end a replay",
                details: "Starts no more deliveries for it. Those that were started continue, with their retries.",
                arguments: [
                    delegateID, Argument(name: "REPLAY", help: "The replay, as `herald delegates replays` lists it."),
                ],
                flags: Flags.client,
                action: .run { call throws(CommandError) in
                    let replay = call.arguments[1]
                    try Listing.report(call, "DELETE", delegatePath(call, "replays", replay)) { _ in
                        "Ended \(replay)."
                    }
                }),
            Command(
                name: "rotate", summary: "replace the secret of a delegate",
                details: "Prints the new secret. The old secret also signs during --overlap.", arguments: [delegateID],
                flags: [
                    Flag("overlap", "SECONDS", "How long the old secret also signs, 0 to 604800. Default: 86400."),
                    DelegateField.signature.flag, DelegateField.secretFile,
                ] + Flags.client, action: .run(rotateSecret)),
            listing(
                name: "attempts", summary: "list the newest attempts to call a delegate", arguments: [delegateID],
                flags: [
                    Flags.outcome, Flag("event", "ID", "Only those about this event."),
                    Flag("error", "ERRORS", "Only those that failed so: timeout, 503, 5xx; or several, with commas."),
                    Flag(
                        "since", "TIME",
                        "Only those that began at this time or later, such as 2h or 2026-01-31T12:00:00Z.", time: .past),
                    Flag("until", "TIME", "Only those that began at this time or before.", time: .past),
                ],
                examples: ["herald delegates attempts dlg_01M7YZ2J61B6WSJHG4TYRGWBTV --error timeout,5xx --since 1h"],
                path: { call throws(CommandError) in try delegatePath(call, "attempts") },
                query: { call throws(CommandError) in
                    try call.resources() + call.query("outcome", "error", "since", "until")
                },
                none: "No attempts.", AttemptRow.table(.id("EVENT")),
                row: { AttemptRow.cells($0, about: $0.text("event")) }),
            Command(
                name: "stats", summary: "show the backlog of a delegate, and the results and latency of its attempts",
                arguments: [delegateID], flags: Flags.client, action: .run(showStatistics)),
            Command(
                name: "explain", summary: "explain whether a delegate gets an event, and if not, why",
                arguments: [delegateID, Argument(name: "EVENT", help: "The event: evt_...")], flags: Flags.client,
                action: .run(explainEvent)),
            leases, endLease, seek,
        ]))

    static let delegateID = Argument(name: "ID", help: "The delegate: dlg_...")

    private static func delegateRow(_ delegate: JSONValue) -> [Table.Cell] {
        let lag = Table.Cell(delegate["lag"].map(eventCount) ?? "")
        return delegate.cells("id", "kind", "status") + [lag]
            + delegate.cells("events", delegate["url"] == nil ? "description" : "url")
    }

    private static func addDelegate(_ call: Invocation) throws(CommandError) {
        let body = try DelegateField.body(call, .registration, url: call.arguments.first)
        let answer = try APIClient(call).send("POST", ["v1", "delegates"], body: body)
        let listing = Listing(call)
        if answer.status == 200 && !listing.isJSON {
            Output.message("This URL was registered already, with the same settings.\n")
        }
        try listing.print(answer)
    }

    private static func removeDelegates(_ call: Invocation) throws(CommandError) {
        let client = try APIClient(call)
        let listing = Listing(call)
        guard call.has("all") != !call.arguments.isEmpty else {
            throw CommandError("Name the delegates to remove, or say --all for all webhooks and pull delegates.")
        }
        if call.has("all") {
            try confirmRemovalOfAll(call, client)
            let answer = try client.send("DELETE", ["v1", "delegates"], query: [("all", "true")])
            return try listing.print(answer, "Removed \(answer.json.text("deleted")).")
        }
        try Confirmation.ask(call, isNamed: true) {
            "Remove \(call.arguments.joined(separator: ", ")) of \(client.server), with what is still to be delivered?"
        }
        for argument in call.arguments {
            let id = try ShortID.delegates.resolve(argument, call)
            try listing.print(try client.send("DELETE", ["v1", "delegates", id]), "Removed \(id).")
        }
    }

    /// Shows their number, because the command may have been meant for another server.
    private static func confirmRemovalOfAll(_ call: Invocation, _ client: APIClient) throws(CommandError) {
        try Confirmation.ask(call) { () throws(CommandError) in
            var (webhooks, pulls) = (0, 0)
            try client.pages(["v1", "delegates"], query: [("kind", "webhook")], limit: nil) { webhooks += $0.count }
            try client.pages(["v1", "delegates"], query: [("kind", "pull")], limit: nil) { pulls += $0.count }
            let words = [(webhooks, "webhook"), (pulls, "pull delegate")].filter { $0.0 > 0 }
                .map { $0.0 == 1 ? "the only \($0.1)" : "all \($0.0) \($0.1)s" }
            let what = words.isEmpty ? "all 0 delegates" : words.joined(separator: " and ")
            return "Remove \(what) of \(client.server), with what is still to be delivered?"
        }
    }

    private static func act(_ call: Invocation, _ verb: String) throws(CommandError) {
        try Listing.report(call, "POST", delegatePath(call, verb)) { "\($0.text("id")) is \($0.text("status"))." }
    }

    private static func testDelegate(_ call: Invocation) throws(CommandError) {
        let answer = try APIClient(call).send("POST", delegatePath(call, "test"), query: sample(call))
        try Listing(call).print(answer)
        guard answer.json["outcome"]?.isString("succeeded") == true else {
            throw CommandError("", exitCode: ExitCode.refused)
        }
    }

    private static func replayEvents(_ call: Invocation) throws(CommandError) {
        guard let from = call["from"] else {
            throw CommandError("--from is missing: an event's id, a time, or earliest.")
        }
        let first = try ShortID.events.resolve(from, call)
        let last = try call.id("until", of: .events)
        let body = JSONWriter.document {
            $0.member("from", first)
            $0.member("until", ifPresent: last)
            $0.member("only", ifPresent: call["only"])
        }
        let isDry = call.has("dry-run")
        let words = call["only"] == "failed" ? "Deliveries to repeat" : "Events to send again"
        try Listing.report(
            call, "POST", delegatePath(call, "replay"), query: [("dry_run", isDry ? "true" : nil)], body: body
        ) { "\(words): \(eventCount($0))\(isDry ? " (dry run)" : "")." }
    }

    private static func replayRow(_ replay: JSONValue) -> [Table.Cell] {
        // The server chooses the number.
        let progress = min(max(0, replay["progress"]?.double ?? 0), 1)
        let percent = Int((progress * 100).rounded(.down))
        return replay.cells("id", "created_at") + [Table.Cell("\(percent) %"), Table.Cell(eventCount(replay))]
    }

    /// The number of events still to be sent; `~` marks an estimate.
    static func eventCount(_ lag: JSONValue) -> String {
        (lag["estimated"]?.bool == true ? "~" : "") + lag.text("events")
    }

    private static func rotateSecret(_ call: Invocation) throws(CommandError) {
        let overlap = try call.number("overlap", 0...604_800)
        let secret = try DelegateField.secret(call)
        let body = JSONWriter.document {
            $0.member("overlap_seconds", ifPresent: overlap)
            $0.member("signature", ifPresent: call["signature"])
            $0.member("secret", ifPresent: secret)
        }
        try Listing.show(call, "POST", delegatePath(call, "secret", "rotate"), body: body)
    }

    private static func showStatistics(_ call: Invocation) throws(CommandError) {
        try Listing.show(
            call, "GET", delegatePath(call, "stats"),
            named: [
                "last_hour": "attempts in the last hour", "last_day": "attempts in the last day",
                "hours": "attempts by hour",
            ])
    }

    private static func previewRequest(_ call: Invocation) throws(CommandError) {
        let target = call.arguments[0]
        let isURL = target.holds("://")
        if !isURL, let flag = DelegateField.registrationOnly.first(where: { call.has($0.name) }) {
            throw CommandError("--\(flag.name) is for a new delegate: give a URL, not an id.")
        }
        let hasChange = DelegateField.of(.change).contains { call.has($0.flag.name) }
        let body =
            isURL
            ? try DelegateField.body(call, .registration, url: target)
            : hasChange ? try DelegateField.body(call, .change) : nil
        let answer = try APIClient(call).send(
            "POST", isURL ? ["v1", "delegates", "preview"] : delegatePath(call, "preview"),
            query: sample(call), body: body)
        if call.has("json") { return try Listing(call).print(answer) }
        let json = answer.json
        try Output.line("\(json.text("method")) \(json.text("url"))".printable())
        for (name, value) in json["headers"]?.members.map({ $0 }) ?? [] {
            try Output.line("\(name): \(value.string ?? "")".printable())
        }
        try Output.line("")
        try Output.line(json.text("body").printable())
    }

    /// The event of a preview or of a test call.
    private static func sample(_ call: Invocation) throws(CommandError) -> [(String, String?)] {
        if call.has("event"), call.has("type") { throw CommandError("--event and --type can't be combined.") }
        return try call.resources() + call.query("type")
    }

    private static func explainEvent(_ call: Invocation) throws(CommandError) {
        let event = try ShortID.events.resolve(call.arguments[1], call)
        let answer = try APIClient(call).send("GET", delegatePath(call, "explain"), query: [("event", event)])
        if call.has("json") { return try Listing(call).print(answer) }
        let json = answer.json
        let words = json["matches"]?.bool == true ? "matches" : "does not match"
        let details = [json.text("clause"), json.text("reason")].filter { !$0.isEmpty }
        try Output.line(([words] + details).joined(separator: ": ").printable())
    }

    static func delegatePath(_ call: Invocation, _ rest: String...) throws(CommandError) -> [String] {
        ["v1", "delegates", try ShortID.delegates.resolve(call.arguments[0], call)] + rest
    }
}

enum AttemptRow {
    /// - Parameters:
    ///   - about: the second column.
    ///   - isLive: rows appear as attempts end, so that times are not relative, and each has its delegate.
    static func table(_ about: Table.Column, isLive: Bool = false) -> Table {
        if isLive {
            return Table(
                "STARTED", about, .id("DELEGATE"), "TRY", "OUTCOME", "STATUS", "MS", .text("DETAIL"))
        }
        return Table(.time("STARTED"), about, "TRY", "OUTCOME", "STATUS", "MS", .text("DETAIL"))
    }

    static func cells(_ attempt: JSONValue, about: String, isLive: Bool = false) -> [Table.Cell] {
        let time = attempt.text("started_at")
        // Of a failure, the receiver's own words say most.
        let excerpt = attempt.text("outcome") == "failed" ? attempt.text("response_excerpt") : ""
        let detail = [attempt.text("error"), excerpt, attempt.text("detail")].filter { !$0.isEmpty }
        let start = Table.Cell(isLive ? EventRow.clock(time) : time, .faint)
        var cells = [start, Table.Cell(about)] + (isLive ? attempt.cells("delegate") : [])
        cells += attempt.cells("attempt", "outcome", "status_code", "duration_ms")
        return cells + [Table.Cell(detail.joined(separator: ": "))]
    }
}
