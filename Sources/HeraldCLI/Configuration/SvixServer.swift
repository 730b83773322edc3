import HeraldHTTPClient
import HeraldJSON

/// Reads the configuration of a Svix server, by its HTTP API (https://api.svix.com/docs). Used by one thread.
struct SvixServer {
    /// A tenant.
    struct Application {
        let id: String
        /// The id that the owner has chosen.
        let uid: String?
        let title: String

        /// For people.
        var label: String { "Svix's \(title.isEmpty ? id : title)" }

        /// The name of the app: of the owner's id, or else of the title, what a name may have. Of two that are equal then, the second
        /// one has a part of its id.
        /// - Parameter taken: the names so far.
        func name(avoiding taken: inout Set<String>) -> String {
            let ending = "-" + Self.slug(String(id.suffix(8)))
            var name = Self.slug(uid ?? title)
            if name.isEmpty || name.hasPrefix("app_") || name == "default" { name = "svix" + ending }
            if taken.contains(name) { name = name.prefix(64 - ending.utf8.count) + ending }
            taken.insert(name)
            return name
        }

        private static func slug(_ text: String) -> String {
            let characters = text.lowercased().map { character in
                character.isASCII && (character.isLetter || character.isNumber || character == "_") ? character : "-"
            }
            return String(String(characters).split(separator: "-").joined(separator: "-").prefix(64))
        }
    }

    struct Endpoint {
        let url: String
        /// The settings of the webhook, with what only its registration may have.
        let settings: JSONValue
        let isDisabled: Bool
    }

    /// The most elements that a list of Svix gives at once.
    private static let pageSize = 250
    private let client: APIClient

    init(_ call: Invocation) throws(CommandError) {
        guard let url = call["from"], let file = call["token-file"] else {
            throw CommandError(description: "--from URL and --token-file FILE are needed.")
        }
        client = try APIClient(server: url, key: try KeyFile.read(file), tls: try ClientTLS(call))
    }

    func apps() throws(CommandError) -> [Application] {
        try list(["app"]).map { app in
            Application(id: app.text("id"), uid: app["uid"]?.string, title: app.text("name"))
        }
    }

    /// The types that are not archived, with the latest of their schemas, which Svix does not enforce.
    func eventTypes() throws(CommandError) -> [(key: String, value: JSONValue)] {
        var found: [(key: String, value: JSONValue)] = []
        for type in try list(["event-type"], [("with_content", "true")]) {
            let versions =
                type["schemas"]?.members.compactMap { member in Int(member.key).map { ($0, member.value) } } ?? []
            let latest = versions.max { $0.0 < $1.0 }?.1
            let described = try JSONValue.made { object in
                object.member("type", type.text("name"))
                object.member("description", type.text("description"))
                if let latest { object.member("schema", RawJSON(latest.bytes[...])) }
            }
            found.append((type.text("name"), described))
        }
        return found
    }

    /// - Parameter report: gets what has no counterpart, a line for each.
    func endpoints(of app: Application, _ report: (String) throws(CommandError) -> Void) throws(CommandError)
        -> [Endpoint]
    {
        var found: [Endpoint] = []
        for endpoint in try list(["app", app.id, "endpoint"]) {
            let (id, url) = (endpoint.text("id"), endpoint.text("url"))
            let path = ["app", app.id, "endpoint", id]
            let secret = try get(path + ["secret"]).text("key")
            let headers = try get(path + ["headers"])
            for channel in endpoint["channels"].map({ Array($0.elements) }) ?? [] {
                try report("endpoint \(url): channel \(channel.string ?? ""): select by subject or filter instead")
            }
            for name in headers["sensitive"].map({ Array($0.elements) }) ?? [] {
                try report(
                    "endpoint \(url): header \(name.string ?? ""): Svix does not show its value; add it to the delegate"
                )
            }
            let types = (endpoint["filterTypes"] ?? endpoint["eventTypes"]).flatMap { $0.count == 0 ? nil : $0 }
            let settings = try JSONValue.made { object in
                object.member("url", url)
                object.member("events", RawJSON(types?.bytes[...] ?? Array(#"["*"]"#.utf8)[...]))
                object.member("description", endpoint.text("description"))
                if let metadata = endpoint["metadata"] { object.member("metadata", RawJSON(metadata.bytes[...])) }
                if let rate = endpoint["rateLimit"] ?? endpoint["throttleRate"], !rate.isNull {
                    object.member("rate_limit", RawJSON(rate.bytes[...]))
                }
                object.member("request", RawJSON(Array(#"{"body": "data", "sign": ["svix"]}"#.utf8)[...]))
                object.member("secret", secret.hasPrefix("wh") ? secret : "whsec_" + secret)
                if let values = headers["headers"], values.count > 0 {
                    object.member("headers", RawJSON(values.bytes[...]))
                }
            }
            found.append(Endpoint(url: url, settings: settings, isDisabled: endpoint["disabled"]?.bool == true))
        }
        return found
    }

    /// All pages of a list.
    private func list(_ path: [String], _ query: [(String, String?)] = []) throws(CommandError) -> [JSONValue] {
        var found: [JSONValue] = []
        var iterator: String?
        while true {
            let page = try get(path, query + [("limit", "\(Self.pageSize)"), ("iterator", iterator)])
            guard let data = page["data"], data.kind == .array else { throw wrong("its response is not a list") }
            found += data.elements
            let next = page["iterator"]?.string
            guard page["done"]?.bool == false, let next, next != iterator else { return found }
            iterator = next
        }
    }

    private func get(_ path: [String], _ query: [(String, String?)] = []) throws(CommandError) -> JSONValue {
        let response = try client.ask("GET", ["api", "v1"] + path, query: query)
        switch response.status {
        case 200: return try client.document(response.body).root
        case 401, 403: throw wrong("it refuses the token of --token-file")
        case 429, 500...:
            throw wrong("its status is \(response.status). Repeat the command: it continues", ExitCode.temporary)
        default: throw wrong("/\(path.joined(separator: "/")) has the status \(response.status)")
        }
    }

    private func wrong(_ reason: String, _ exitCode: Int32 = ExitCode.unavailable) -> CommandError {
        CommandError(description: "Svix's server \(client.server): \(reason).".printable(), exitCode: exitCode)
    }
}
