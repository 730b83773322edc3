import HeraldJSON

extension Command {
    static let export = Command(
        name: "export", summary: "print the configuration of a server: apps, event types and delegates, as JSON",
        details: """
            The input of `herald apply`. The output has the webhooks, pull delegates and event types of one app. With an admin key
            of `default` it also has the other apps with their limits. It has no positions in the log, signing secrets, extra
            headers, keys and TLS settings.
            """,
        flags: Flags.connection,
        examples: ["herald export > herald.json"],
        action: .run(exportAll))

    static let apply = Command(
        name: "apply", summary: "make a server have the configuration of a file",
        details: """
            Creates missing objects, and changes those that differ. Apps are found by name, event types by type, webhooks by URL,
            and pull delegates by description. If several match, the most similar one is changed. A setting that the file does not
            name stays, and `null` resets it. Nothing is removed. Applying a file again changes nothing.
            With --dry-run the server checks the settings of webhooks. It does not find conflicts between webhooks and limits of
            the app.
            --show-secrets prints the secrets of new webhooks, and `herald delegates rotate` replaces one. A refused request ends
            the command. Earlier changes stay.
            """,
        arguments: [Argument(name: "FILE", help: "As `herald export` prints it, JSON; - reads standard input.")],
        flags: [
            Flags.dryRun,
            Flag("show-secrets", nil, "Print the secrets of new webhooks; they are shown only once."),
        ] + Flags.client,
        examples: [
            "herald apply herald.json --dry-run", "herald export --profile test | herald apply - --profile production",
        ],
        action: .run(applyFile))

    private static func exportAll(_ call: Invocation) throws(CommandError) {
        let client = try APIClient(call)
        let managesApps = try canManageApps(client)
        var lists: [String] = []
        for kind in ConfigurationKind.all where managesApps || kind.name != ConfigurationKind.apps.name {
            // Each on a line of its own, so that a comparison of two files shows what differs.
            var resources: [String] = []
            var known: Set<String> = []
            for resource in try kind.current(client) {
                let json = JSONWriter.document { object in
                    for (key, value) in kind.exported(resource) { object.member(key, value) }
                }
                let line = "\n    " + String(decoding: Output.oneLine(json: json), as: UTF8.self)
                // Delegates with one URL may differ in nothing but what a file does not have.
                if known.insert(line).inserted || !kind.isShared { resources.append(line) }
            }
            lists.append("  \"\(kind.name)\": [\(resources.joined(separator: ","))\(resources.isEmpty ? "" : "\n  ")]")
        }
        try Output.line("{\n\(lists.joined(separator: ",\n"))\n}")
    }

    private static func applyFile(_ call: Invocation) throws(CommandError) {
        let path = call.arguments[0]
        let bytes = try Input.bytes(path == "-" ? path : "@" + path)
        let document = try Input.document(bytes, path == "-" ? "The standard input" : path, maxValues: 20_000_000)
        let names = ConfigurationKind.all.map(\.name)
        let unknown = document.root.members.first { !names.contains($0.key) }
        guard document.root.kind == .object, unknown == nil else {
            let cause = unknown.map { "\($0.key) is not a member of it; " } ?? ""
            throw ConfigurationKind.wrong("\(cause)it must be an object with some of " + names.joined(separator: ", "))
        }
        // The whole file is checked before anything is done.
        var desired: [(ConfigurationKind, [(key: String, value: JSONValue)])] = []
        for kind in ConfigurationKind.all { desired.append((kind, try kind.desired(document.root))) }
        let client = try APIClient(call)
        let isDry = call.has("dry-run")
        var unchanged = 0
        var unchecked: [String] = []
        for (kind, resources) in desired where !resources.isEmpty {
            for step in ConfigurationStep.steps(kind, to: resources, from: try kind.current(client)) {
                guard step.isNeeded else {
                    unchanged += 1
                    continue
                }
                try step.check()
                if isDry, try !step.preview(client), !unchecked.contains(kind.word) { unchecked.append(kind.word) }
                let answer = isDry ? nil : try step.run(client)
                try step.print(call, secret: call.has("show-secrets") ? answer?.json["secret"]?.string : nil)
            }
        }
        ConfigurationKind.reportUnchecked(unchecked)
        if !call.has("json") { try Output.line("Unchanged: \(unchanged).") }
    }

    /// Whether the key sees all apps, and none is chosen.
    private static func canManageApps(_ client: APIClient) throws(CommandError) -> Bool {
        let session = try client.send("GET", ["v1", "session"]).json
        let isAdmin = session["scopes"]?.elements.contains { $0.isString("admin") } == true
        return client.app == nil && isAdmin && session.text("app") == "default"
    }
}
