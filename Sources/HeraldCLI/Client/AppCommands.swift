import HeraldJSON
import HeraldRuntime

extension Command {
    static let apps = Command(
        name: "apps", summary: "create, list, change and delete apps: tenants, isolated from each other",
        details: "To use an app, use one of its keys, or an admin key and --app.",
        action: .group([
            Command(
                name: "create", summary: "create an app", arguments: [name],
                flags: limits + PortalFlags.all + Flags.client,
                examples: ["herald apps create shop --max-delegates 100 --events-per-second 200"],
                action: .run { call throws(CommandError) in
                    let body = try body(call, name: call.arguments[0])
                    try Listing.show(call, "POST", ["v1", "apps"], body: body)
                }),
            listing(
                name: "list", summary: "list apps, newest first", path: { _ in ["v1", "apps"] }, none: "No apps.",
                Table(
                    "ID", .text("NAME"), "MAX DELEGATES", "EVENTS PER SECOND", "STORED BYTES", "MAX", .time("CREATED")),
                row: {
                    $0.cells(
                        "id", "name", "max_delegates", "events_per_second", "stored_bytes", "max_stored_bytes",
                        "created_at")
                }),
            Command(
                name: "show", summary: "show one app", arguments: [name], flags: Flags.client,
                action: .run { call throws(CommandError) in
                    try Listing.show(call, "GET", path(call))
                }),
            Command(
                name: "change", summary: "change the name, the quotas or the portal of an app",
                details: "Changes only the settings that you give. The value \"default\" resets one.",
                arguments: [name],
                flags: [Flag("name", "NAME", "The new name.")] + limits + PortalFlags.all + Flags.client,
                examples: ["herald apps change shop --portal-title 'The shop' --portal-logo logo.png"],
                action: .run { call throws(CommandError) in
                    let body = try body(call, name: call["name"])
                    try Listing.show(call, "PATCH", path(call), body: body)
                }),
            Command(
                name: "delete", summary: "delete an app, with its delegates, keys and streams", arguments: [name],
                flags: [Confirmation.flag] + Flags.client,
                action: .run { call throws(CommandError) in
                    let client = try APIClient(call)
                    let path = try path(call)
                    try Confirmation.ask(call) { () throws(CommandError) in
                        "Delete the app \(path[2]) of \(client.server), with its delegates, keys and streams?"
                    }
                    let answer = try client.send("DELETE", path)
                    try Listing(call).print(
                        answer, "The app \(path[2]) was deleted, with its delegates, keys and streams.")
                }),
            Command(
                name: "link", summary: "create a link that opens the dashboard of an app", arguments: [name],
                flags: [PortalLink.lifetime("it")] + Flags.client,
                action: .run { call throws(CommandError) in
                    let link = try PortalLink(call)
                    let client = try APIClient(call)
                    // Its error names the argument; that of the link names a field.
                    let path = try path(call)
                    _ = try client.send("GET", path)
                    try link.print(client, app: path[2])
                }),
        ]))

    static let audit = listing(
        name: "audit", summary: "show who changed which delegate, key or app, newest first",
        path: { _ in ["v1", "audit"] }, none: "Nothing was changed.",
        Table(.time("TIME"), .text("ACTOR"), "ADDRESS", .text("ACTION"), .id("TARGET"), "APP"),
        row: { $0.cells("time", "actor", "address", "action", "target", "app") })

    private static let name = Argument(name: "NAME", help: "The app: its name or, once it exists, its id.")

    private static let limits = [
        Flag("max-delegates", "NUMBER|default", "Maximum of webhooks and pull delegates. Default: no limit."),
        Flag("events-per-second", "NUMBER|default", "Maximum of events published per second. Default: no limit."),
        Flag("max-stored-bytes", "NUMBER|default", "Maximum of bytes that its events take. Default: no limit."),
    ]

    private static func body(_ call: Invocation, name: String?) throws(CommandError) -> [UInt8] {
        var limits: [(String, Int?)] = []
        for flag in ["max-delegates", "events-per-second", "max-stored-bytes"] where call.has(flag) {
            let most = flag == "max-stored-bytes" ? 1_000_000_000_000_000 : 1_000_000
            let limit = call[flag] == "default" ? nil : try call.number(flag, 0...most)
            limits.append((flag.replaced("-", by: "_"), limit))
        }
        let portal = try PortalFlags.json(call)
        return JSONWriter.document { app in
            app.member("name", ifPresent: name)
            for (member, limit) in limits { app.member(member, limit) }
            app.member("portal", ifPresent: portal)
        }
    }

    private static func path(_ call: Invocation) throws(CommandError) -> [String] {
        ["v1", "apps", try ShortID.apps.resolve(call.arguments[0], call)]
    }
}
