import HeraldJSON

extension Command {
    static let export = Command(
        name: "export", summary: "print the configuration of a server: apps, event types and delegates, as JSON",
        details: """
            For `herald apply`. It has the webhooks and event types of one app, and with an admin key of `default` the other apps with their limits.
            It is YAML, too. It has no secrets: no signing secrets, extra headers, keys and TLS settings.
            """,
        flags: Flags.connection,
        examples: ["herald export > herald.json"],
        action: .run(ConfigurationCommands.export))

    static let apply = Command(
        name: "apply", summary: "make a server have the configuration of a file",
        details: """
            Creates what is missing, and changes what differs: apps by name, event types by type, webhooks by URL, and of several
            with one URL the most similar one. Settings that the file does not name stay, `null` resets one, and nothing is removed. Applying a file again does nothing. A new webhook has a secret:
            --show-secrets prints it once, and `herald delegates rotate` replaces it. A request that is refused ends the command;
            what was done before it stays.
            """,
        arguments: [Argument(name: "FILE", help: "As `herald export` prints it, JSON; - reads standard input.")],
        flags: [
            Flags.dryRun,
            Flag(name: "show-secrets", help: "Print the secrets of new webhooks; they are shown only once."),
        ] + Flags.client,
        examples: [
            "herald apply herald.json --dry-run", "herald export --profile test | herald apply - --profile production",
        ],
        action: .run(ConfigurationCommands.apply))
}

private enum ConfigurationCommands {
    static func export(_ call: Invocation) throws(CommandError) {
        let client = try APIClient(call)
        let managesApps = try canManageApps(client)
        var lists: [String] = []
        for kind in ConfigurationKind.all where managesApps || kind.name != ConfigurationKind.apps.name {
            // Each on a line of its own, so that a comparison of two files shows what differs.
            var resources: [String] = []
            var known: Set<String> = []
            for resource in try kind.current(client) {
                var json = JSONWriter()
                json.object { object in
                    for (key, value) in kind.exported(resource) { object.member(key, RawJSON(value.bytes[...])) }
                }
                let line = "\n    " + String(decoding: Output.oneLine(json: json.bytes), as: UTF8.self)
                // Delegates with one URL may differ in nothing but what a file does not have.
                if known.insert(line).inserted || !kind.isShared { resources.append(line) }
            }
            lists.append("  \"\(kind.name)\": [\(resources.joined(separator: ","))\(resources.isEmpty ? "" : "\n  ")]")
        }
        try Output.line("{\n\(lists.joined(separator: ",\n"))\n}")
    }

    static func apply(_ call: Invocation) throws(CommandError) {
        let path = call.arguments[0]
        let bytes = try Input.bytes(path == "-" ? path : "@" + path)
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: bytes, limits: JSONLimits(values: 1_000_000))
        } catch {
            throw CommandError(description: "\(path) is not JSON: \(error).", exitCode: ExitCode.data)
        }
        let names = ConfigurationKind.all.map(\.name)
        guard document.root.kind == .object, document.root.members.allSatisfy({ names.contains($0.key) }) else {
            throw ConfigurationKind.wrong("it must be an object with some of " + names.joined(separator: ", "))
        }
        // The whole file is checked before anything is done.
        var desired: [(ConfigurationKind, [(key: String, value: JSONValue)])] = []
        for kind in ConfigurationKind.all { desired.append((kind, try kind.desired(document.root))) }
        let client = try APIClient(call)
        var unchanged = 0
        for (kind, resources) in desired where !resources.isEmpty {
            for step in Step.steps(kind, to: resources, from: try kind.current(client)) {
                guard step.isNeeded else {
                    unchanged += 1
                    continue
                }
                try step.check()
                let answer = call.has("dry-run") ? nil : try step.run(client)
                try step.print(call, secret: call.has("show-secrets") ? answer?.json["secret"]?.string : nil)
            }
        }
        if !call.has("json") { try Output.line("Unchanged: \(unchanged).") }
    }

    /// Whether the key sees all apps, and none is chosen.
    private static func canManageApps(_ client: APIClient) throws(CommandError) -> Bool {
        let session = try client.send("GET", ["v1", "session"]).json
        let isAdmin = session["scopes"]?.elements.contains { $0.isString("admin") } == true
        return client.app == nil && isAdmin && session.text("app") == "default"
    }
}

/// One request of `herald apply`.
private struct Step {
    let kind: ConfigurationKind
    let key: String
    let desired: JSONValue
    private(set) var current: JSONValue?

    /// Pairs the resources of a file with those of the server that have the same key. Of several with one key, those pair first that
    /// differ in the fewest settings.
    static func steps(
        _ kind: ConfigurationKind, to desired: [(key: String, value: JSONValue)], from current: [JSONValue]
    ) -> [Step] {
        let known = Dictionary(grouping: current) { $0.text(kind.key) }
        var steps = desired.map { Step(kind: kind, key: $0.key, desired: $0.value, current: nil) }
        for (key, places) in Dictionary(grouping: steps.indices, by: { steps[$0].key }) {
            let candidates = known[key] ?? []
            var pairs: [(place: Int, candidate: Int, differences: Int)] = []
            for place in places {
                for (index, candidate) in candidates.enumerated() {
                    var step = steps[place]
                    step.current = candidate
                    pairs.append((place, index, step.differences.count))
                }
            }
            var taken: Set<Int> = []
            for pair in pairs.sorted(by: { $0.differences < $1.differences }) where steps[pair.place].current == nil {
                guard taken.insert(pair.candidate).inserted else { continue }
                steps[pair.place].current = candidates[pair.candidate]
            }
        }
        return steps
    }

    /// The settings of the file that the server has otherwise.
    private var differences: [String] {
        kind.settings.filter { name in
            guard let wanted = desired[name] else { return false }
            if kind.merged.contains(name), wanted.kind == .object, let present = current?[name], present.kind == .object
            {
                return wanted.members.contains { member in
                    let text = present[member.key]?.canonicalText ?? "null"
                    return member.value.canonicalText != text
                }
            }
            let present = current?[name]?.canonicalText ?? "null"
            guard wanted.isNull else { return wanted.canonicalText != present }
            // It resets the setting. A default that is not described is the empty value.
            let reset = kind.defaults?[name]?["default"]?.canonicalText ?? "null"
            return reset == "null" ? !["null", "{}", "[]", "\"\""].contains(present) : reset != present
        }
    }

    var isNeeded: Bool { current == nil || !differences.isEmpty }

    func check() throws(CommandError) {
        guard current != nil, let fixed = differences.first(where: kind.fixed.contains) else { return }
        throw CommandError(
            description: "\(kind.word) \(key): \"\(fixed)\" cannot be changed, only chosen at its creation."
                .printable(),
            exitCode: ExitCode.refused)
    }

    func run(_ client: APIClient) throws(CommandError) -> APIClient.Answer {
        do throws(CommandError) {
            if let current {
                return try client.send(kind.method, kind.path + [current.text(kind.id)], body: body(over: current))
            }
            return kind.method == "PUT"
                ? try client.send("PUT", kind.path + [key], body: body(over: nil))
                : try client.send("POST", kind.path, body: desired.bytes)
        } catch {
            throw CommandError(
                description: "\(kind.word) \(key): ".printable() + error.description, exitCode: error.exitCode)
        }
    }

    /// The differences; with PUT all settings, since it replaces them.
    private func body(over current: JSONValue?) -> [UInt8] {
        let isWhole = kind.method == "PUT"
        let (changed, different) = (isWhole ? kind.settings : differences, Set(differences))
        var json = JSONWriter()
        json.object { object in
            for name in changed {
                let value = different.contains(name) || current == nil ? desired[name] : current?[name]
                if let value, !(isWhole && value.isNull) { object.member(name, RawJSON(value.bytes[...])) }
            }
        }
        return json.bytes
    }

    func print(_ call: Invocation, secret: String?) throws(CommandError) {
        let action = current == nil ? "create" : "change"
        let changed = current == nil ? [] : differences
        if call.has("json") {
            var json = JSONWriter()
            json.object {
                $0.member("action", action)
                $0.member("kind", kind.name)
                $0.member("key", key)
                $0.member("settings", changed)
                $0.member("secret", ifPresent: secret)
            }
            return try Output.line(json: json.bytes)
        }
        let settings = changed.isEmpty ? "" : ": " + changed.joined(separator: ", ")
        let tense = call.has("dry-run") ? "Would \(action)" : action.prefix(1).uppercased() + action.dropFirst() + "d"
        let shown = secret.map { " Its secret: \($0)" } ?? ""
        try Output.line("\(tense) the \(kind.word) \(key)\(settings).\(shown)".printable())
    }
}
