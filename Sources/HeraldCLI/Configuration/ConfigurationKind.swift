import HeraldAPI
import HeraldJSON
import HeraldModel
import HeraldWebhooks

/// A kind of resource that `herald export` writes and `herald apply` makes: its member in the file, its path in the API, and its settings.
struct ConfigurationKind: Sendable {
    /// The member of the file.
    let name: String
    /// One of them, in messages.
    let word: String
    let path: [String]
    /// The member that identifies one.
    let key: String
    let settings: [String]
    /// Several can have the same key.
    var isShared = false
    /// The key may be missing or empty.
    var isKeyOptional = false
    /// Settings that the server changes member by member.
    var merged: [String] = []
    /// Settings that a change cannot have.
    var fixed: [String] = []
    /// The member that names one in a path: its key, or an id that the server made.
    let id: String
    /// How one is changed; with PUT a request has all settings.
    let method: String
    /// The schema of the API's description that has the defaults.
    let schema: String
    /// Its path has a `preview`, which validates settings and changes nothing.
    var hasPreview = false

    static let apps = ConfigurationKind(
        name: "apps", word: "app", path: ["v1", "apps"], key: "name",
        settings: ["max_delegates", "events_per_second", "max_stored_bytes", "portal"], merged: ["portal"], id: "id",
        method: "PATCH", schema: "AppSettings")
    static let eventTypes = ConfigurationKind(
        name: "event_types", word: "event type", path: ["v1", "event-types"], key: "type",
        settings: ["description", "example", "schema", "check", "assert_formats"], id: "type", method: "PUT",
        schema: "EventTypeInput")
    static let delegates = ConfigurationKind(
        name: "delegates", word: "delegate", path: ["v1", "delegates"], key: "url",
        // The values of headers and TLS settings are secrets, which the API never shows. Pull delegates have no URL.
        settings: WebhookField.all.map(\.name).filter {
            !["url", "headers", "tls", "kind", "ack_seconds"].contains($0)
        }
            + ["signature"],
        isShared: true, merged: ["metadata", "request"], fixed: ["signature"], id: "id", method: "PATCH",
        schema: "DelegateSettings", hasPreview: true)

    /// Pull delegates have no URL. The description is the name that their owner has chosen, and may be empty.
    static let pulls = ConfigurationKind(
        name: "pull_delegates", word: "pull delegate", path: ["v1", "delegates"], key: "description",
        settings: WebhookField.all.map(\.name).filter {
            DelegateKind.pull.hasField($0) && !["kind", "description"].contains($0)
        },
        isShared: true, isKeyOptional: true, merged: ["metadata"], id: "id", method: "PATCH",
        schema: "DelegateSettings")

    static let all = [apps, eventTypes, delegates, pulls]

    /// A key as the server writes it.
    func normalized(_ key: String) -> String {
        guard name == Self.delegates.name, let url = try? CallbackURL(key) else { return key }
        return url.text
    }

    /// The default of a setting in the description of the API that this program has, as JSON.
    func defaultText(of setting: String) -> String? {
        // The schema of a registration has it, beside the settings.
        if setting == "ack_seconds" { return String(WebhookField.defaults.ackSeconds) }
        return Self.description?["components"]?["schemas"]?[schema]?["properties"]?[setting]?["default"]?
            .canonicalText
    }

    private static let description = try? JSONDocument(
        parsing: APIDescription.json, limits: JSONLimits(values: 1_000_000)
    ).root

    /// All of a server.
    func current(_ client: APIClient) throws(CommandError) -> [JSONValue] {
        var found: [JSONValue] = []
        let kinds: [String: DelegateKind] = [Self.delegates.name: .webhook, Self.pulls.name: .pull]
        let query: [(String, String?)] = [("kind", kinds[name]?.rawValue)]
        try client.pages(path, query: query, limit: nil) { found += $0 }
        // The app `default` always exists, and has no limits.
        return found.filter { name != Self.apps.name || !($0[key]?.isString("default") ?? false) }
    }

    /// The key and the settings that have a value.
    func exported(_ value: JSONValue) -> [(String, JSONValue)] {
        ([key] + settings).compactMap { member in
            value[member].flatMap { $0.isNull ? nil : (member, $0) }
        }
    }

    /// - Returns: the resources of the file, by their keys, in order.
    /// - Throws: if one is not an object with its key and known settings, or if one is there twice.
    func desired(_ document: JSONValue) throws(CommandError) -> [(key: String, value: JSONValue)] {
        guard let list = document[name] else { return [] }
        guard list.kind == .array else { throw Self.wrong("\"\(name)\" must be an array") }
        var found: [(key: String, value: JSONValue)] = []
        for (index, value) in list.elements.enumerated() {
            let place = "\(name)[\(index)]"
            let missing = isKeyOptional && value[key] == nil ? "" : nil
            guard value.kind == .object, let text = value[key]?.string ?? missing, isKeyOptional || !text.isEmpty
            else {
                throw Self.wrong("\(place) must be an object with the text \"\(key)\"")
            }
            if let unknown = value.members.first(where: { $0.key != key && !settings.contains($0.key) }) {
                throw Self.wrong(
                    "\(place) has the member \"\(unknown.key)\", which is no setting of a file: \(settings.joined(separator: ", "))"
                )
            }
            guard
                !found.contains(where: {
                    $0.key == text && (!isShared || $0.value.canonicalText == value.canonicalText)
                })
            else {
                throw Self.wrong("\(place) is there twice: \(text)")
            }
            found.append((text, value))
        }
        return found
    }

    /// The message of a dry run about settings that only `herald apply` validates.
    static func reportUnchecked(_ kinds: [String]) {
        guard !kinds.isEmpty else { return }
        let list = kinds.map { $0 + "s" }.joined(separator: ", ")
        Output.message("Only compared: \(list). The server checks their settings when they are created or changed.\n")
    }

    static func wrong(_ reason: String) -> CommandError {
        CommandError("The file cannot be applied: \(reason).".printable(), exitCode: ExitCode.data)
    }
}

extension JSONValue {
    static func made(_ body: (inout JSONObjectWriter) -> Void) throws(CommandError) -> JSONValue {
        do throws(JSONError) {
            return try JSONDocument(
                parsing: JSONWriter.document(body), limits: JSONLimits(depth: 80, values: 1_000_000)
            ).root
        } catch {
            throw CommandError("The configuration cannot be written as JSON: \(error).", exitCode: ExitCode.data)
        }
    }

    /// Equal for values that mean the same: the order of members and spaces do not count.
    var canonicalText: String {
        switch kind {
        case .object:
            "{"
                + members.map { (key: $0.key, value: $0.value.canonicalText) }.sorted { $0.key < $1.key }
                .map { Self.quoted($0.key) + ":" + $0.value }.joined(separator: ",") + "}"
        case .array: "[" + elements.map(\.canonicalText).joined(separator: ",") + "]"
        case .string: Self.quoted(string ?? "")
        case .null, .bool, .number: compactText
        }
    }

    private static func quoted(_ text: String) -> String {
        String(decoding: RawJSON.value(text).bytes, as: UTF8.self)
    }
}
