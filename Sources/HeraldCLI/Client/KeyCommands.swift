import HeraldJSON

extension Command {
    static let keys = Command(
        name: "keys", summary: "create, list, show, replace and revoke access keys",
        action: .group([
            Command(
                name: "create", summary: "create a key; it is shown only once",
                details:
                    "The first key of a server must have the scope admin. From then on every request needs a key, and webhooks\n"
                    + "on the machine of the server get events only if `herald serve --allow-networks 127.0.0.0/8,::1/128`\n"
                    + "allows it.",
                arguments: [Argument(name: "NAME", help: "Its purpose, for people.")],
                flags: [
                    Flag(
                        "scope", "SCOPE",
                        "Its scope: publish, read, consume (pulls), manage (includes read and consume) or admin (all). May be repeated.",
                        values: ["publish", "read", "consume", "manage", "admin"]),
                    Flag("delegate", "ID", "With the scope consume: the only delegate that it opens, dlg_..."),
                    Flag("requests-per-second", "NUMBER", "Requests per second. Default: the limit of the server."),
                    Flag(
                        "expires-at", "TIME", "When it expires: 2027-11-21T00:00:00Z, or 90d for in 90 days.",
                        time: .future),
                ] + Flags.client, examples: ["herald keys create 'The shop' --scope publish"],
                action: .run { call throws(CommandError) in
                    let limit = try call.number("requests-per-second", 1...1_000_000)
                    let delegate = try call.id("delegate", of: .delegates)
                    let body = JSONWriter.document { key in
                        key.member("name", call.arguments[0])
                        key.member("scopes", call.list("scope") ?? [])
                        key.member("delegate", ifPresent: delegate)
                        key.member("expires_at", ifPresent: call["expires-at"])
                        key.member("requests_per_second", ifPresent: limit)
                    }
                    // Only a request without a key can create the first one.
                    let client = try APIClient(call)
                    let session = try client.hasKey ? nil : client.send("GET", ["v1", "session"])
                    try Listing.show(call, "POST", ["v1", "keys"], body: body)
                    if session?.json["key_required"]?.bool == false {
                        Output.message(
                            "From now on every request needs a key, and webhooks on the machine of the server get events "
                                + "only if `herald serve --allow-networks 127.0.0.0/8,::1/128` allows it.\n")
                    }
                }),
            listing(
                name: "list", summary: "list keys, newest first, without the keys themselves",
                path: { _ in ["v1", "keys"] }, none: "No keys.",
                Table("ID", .text("NAME"), .text("SCOPES"), .time("CREATED"), .time("EXPIRES"), .time("LAST USED")),
                row: { $0.cells("id", "name", "scopes", "created_at", "expires_at", "last_used_at") }),
            Command(
                name: "show", summary: "show a key, or without an id the app and the scopes of the key that is used",
                arguments: [Argument(name: id.name, help: id.help, isOptional: true)], flags: Flags.client,
                action: .run { call throws(CommandError) in
                    if let key = call.arguments.first {
                        return try Listing.show(call, "GET", ["v1", "keys", try ShortID.keys.resolve(key, call)])
                    }
                    let answer = try APIClient(call).session()
                    let listing = Listing(call)
                    if listing.isJSON { return try listing.print(answer) }
                    try listing.print(fields: answer.json, without: ["signed_in", "portal", "appearance"])
                }),
            Command(
                name: "rotate", summary: "replace a key; the old one stays valid for a while", arguments: [id],
                flags: [
                    Flag("overlap", "SECONDS", "How long the old key stays valid, 0 to 604800. Default: 86400.")
                ] + Flags.client,
                action: .run { call throws(CommandError) in
                    let overlap = try call.number("overlap", 0...604_800)
                    let body = JSONWriter.document { $0.member("overlap_seconds", ifPresent: overlap) }
                    let key = try ShortID.keys.resolve(call.arguments[0], call)
                    try Listing.show(call, "POST", ["v1", "keys", key, "rotate"], body: body)
                }),
            Command(
                name: "revoke", summary: "end a key at once",
                details: "What it has opened ends with it: streams, sessions of the dashboard, and links.",
                arguments: [id],
                flags: [Confirmation.flag] + Flags.client,
                action: .run { call throws(CommandError) in
                    let key = try ShortID.keys.resolve(call.arguments[0], call)
                    let client = try APIClient(call)
                    try Confirmation.ask(call, isNamed: true) { "End the key \(key) of \(client.server), for ever?" }
                    let answer = try client.send("DELETE", ["v1", "keys", key])
                    try Listing(call).print(answer, "The key \(key) is revoked.")
                }),
        ]))

    private static let id = Argument(name: "ID", help: "The key's id: key_...")
}

extension APIClient {
    /// Reads the app and the scopes that the key opens.
    /// - Throws: an error if the server requires another key.
    func session() throws(CommandError) -> Answer {
        let answer = try send("GET", ["v1", "session"])
        guard answer.json["signed_in"]?.bool == true || answer.json["key_required"]?.bool == false else {
            let reason = hasKey ? "does not accept the key" : "requires an access key"
            throw CommandError("\(server) \(reason).", exitCode: ExitCode.refused)
        }
        return answer
    }
}
