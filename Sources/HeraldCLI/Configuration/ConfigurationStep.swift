import HeraldHTTP
import HeraldJSON
import HeraldModel

/// One request that makes a server have what is desired.
struct ConfigurationStep {
    let kind: ConfigurationKind
    let key: String
    let desired: JSONValue
    private(set) var current: JSONValue?

    /// Pairs the resources of a file with those of the server that have the same key. Of several with one key, those pair first that
    /// differ in the fewest settings.
    static func steps(
        _ kind: ConfigurationKind, to desired: [(key: String, value: JSONValue)], from current: [JSONValue]
    ) -> [ConfigurationStep] {
        let known = Dictionary(grouping: current) { $0.text(kind.key) }
        var steps = desired.map { ConfigurationStep(kind: kind, key: $0.key, desired: $0.value, current: nil) }
        for (key, places) in Dictionary(grouping: steps.indices, by: { kind.normalized(steps[$0].key) }) {
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
            if !wanted.isNull, kind.merged.contains(name), let present = current?[name], present.kind == .object {
                return !Self.contains(present, wanted)
            }
            let present = current?[name]?.canonicalText ?? "null"
            guard wanted.isNull else { return wanted.canonicalText != present }
            // It resets the setting. A default that is not described is the empty value.
            let reset = kind.defaultText(of: name) ?? "null"
            return reset == "null" ? !["null", "{}", "[]", "\"\""].contains(present) : reset != present
        }
    }

    /// Whether a setting that is changed member by member has the wanted members already. Those that it does not show, because they
    /// are secret, are in `auth`.
    private static func contains(_ present: JSONValue, _ wanted: JSONValue, showsAll: Bool = true) -> Bool {
        guard wanted.kind == .object, present.kind == .object else {
            return wanted.canonicalText == present.canonicalText
        }
        return wanted.members.allSatisfy { member in
            guard let value = present[member.key] else { return member.value.isNull || !showsAll }
            return contains(value, member.value, showsAll: showsAll && member.key != "auth")
        }
    }

    private var label: String { key.isEmpty ? kind.word : "\(kind.word) \(key)" }

    var isNeeded: Bool { current == nil || !differences.isEmpty }

    func check() throws(CommandError) {
        guard current != nil, let fixed = differences.first(where: kind.fixed.contains) else { return }
        throw CommandError(
            "\(label): \"\(fixed)\" cannot be changed, only chosen at its creation.".printable(),
            exitCode: ExitCode.refused)
    }

    /// Checks the step without taking it: the preview of a request validates the settings as a registration or a change does.
    /// - Returns: whether the server has checked them. It checks those of webhooks, for a key that may change webhooks.
    /// - Throws: if they are refused.
    func preview(_ client: APIClient) throws(CommandError) -> Bool {
        guard kind.hasPreview else { return false }
        let segments = (current.map { [$0.text(kind.id)] } ?? []) + ["preview"]
        let body = current.map { self.body(over: $0) } ?? desired.bytes
        do throws(CommandError) {
            let response = try client.ask("POST", kind.path + segments, body: body)
            // A key that only reads can still compare.
            if response.status == 403 { return false }
            guard (200..<300).contains(response.status) else { throw Problem(response, to: client).error }
            return true
        } catch {
            throw named(error)
        }
    }

    private func named(_ error: CommandError) -> CommandError {
        CommandError("\(label): ".printable() + error.description, exitCode: error.exitCode)
    }

    func run(_ client: APIClient) throws(CommandError) -> APIClient.Answer {
        do throws(CommandError) {
            if let current {
                return try client.send(kind.method, kind.path + [current.text(kind.id)], body: body(over: current))
            }
            return kind.method == "PUT"
                ? try client.send("PUT", kind.path + [key], body: body(over: nil))
                : try client.send("POST", kind.path, body: registration)
        } catch {
            throw named(error)
        }
    }

    /// The settings of the file. Only a pull delegate has to name its kind.
    private var registration: [UInt8] {
        guard kind.name == ConfigurationKind.pulls.name else { return desired.bytes }
        return JSONWriter.document { object in
            object.member("kind", DelegateKind.pull.rawValue)
            for (name, value) in desired.members { object.member(name, value) }
        }
    }

    /// The differences; with PUT all settings, since it replaces them.
    private func body(over current: JSONValue?) -> [UInt8] {
        let isWhole = kind.method == "PUT"
        let (changed, different) = (isWhole ? kind.settings : differences, Set(differences))
        return JSONWriter.document { object in
            for name in changed {
                let value = different.contains(name) || current == nil ? desired[name] : current?[name]
                if let value, !(isWhole && value.isNull) { object.member(name, value) }
            }
        }
    }

    /// - Parameters:
    ///   - app: named if it is not the one of the command.
    ///   - secret: of a new webhook.
    func print(_ call: Invocation, app: String? = nil, secret: String? = nil) throws(CommandError) {
        let action = current == nil ? "create" : "change"
        let changed = current == nil ? [] : differences
        if call.has("json") {
            let json = JSONWriter.document {
                $0.member("action", action)
                $0.member("kind", kind.name)
                $0.member("key", key)
                $0.member("app", ifPresent: app)
                $0.member("settings", changed)
                $0.member("secret", ifPresent: secret)
            }
            return try Output.line(json: json)
        }
        let settings = changed.isEmpty ? "" : ": " + changed.joined(separator: ", ")
        let place = app.map { " of the app \($0)" } ?? ""
        let tense = call.has("dry-run") ? "Would \(action)" : action.prefix(1).uppercased() + action.dropFirst() + "d"
        let shown = secret.map { " Its secret: \($0)" } ?? ""
        try Output.line("\(tense) the \(label)\(place)\(settings).\(shown)".printable())
    }
}
