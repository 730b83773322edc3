import HeraldJSON

/// Reads the configuration of a project of a Convoy server, by its HTTP API (https://docs.getconvoy.io/api-reference).
struct ConvoyServer: ForeignService {
    private static let pageSize = "100"
    /// The longest timeout of a webhook, in seconds.
    private static let maxTimeout: Int64 = 60
    let server: ForeignServer
    private let project: JSONValue

    init(_ call: Invocation) throws(CommandError) {
        guard let id = call["project"] else { throw CommandError("--project ID is needed.") }
        server = try ForeignServer("Convoy", call)
        guard let found = try server.get(["projects", id])["data"], found.text("uid") == id else {
            throw server.wrong("it does not show the project \(id)")
        }
        project = found
    }

    func apps() -> [ForeignApp] { [ForeignApp(id: project.text("uid"), uid: nil, title: project.text("name"))] }

    func eventTypes(
        _: (String) throws(CommandError) -> Void
    ) throws(CommandError) -> [(key: String, value: JSONValue)] {
        var found: [(key: String, value: JSONValue)] = []
        // "*" stands for all.
        for type in try server.get(path + ["event-types"]).list("data")
        where !type.text("name").contains("*") && type["deprecated_at"]?.string == nil {
            let described = try JSONValue.made { object in
                object.member("type", type.text("name"))
                object.member("description", type.text("description"))
                if let schema = type["json_schema"], schema.kind == .object, schema.count > 0 {
                    object.member("schema", schema)
                }
            }
            found.append((type.text("name"), described))
        }
        return found
    }

    /// A webhook for each subscription, with the URL, the secret and the limits of its endpoint.
    func endpoints(
        of app: ForeignApp, _ report: (String) throws(CommandError) -> Void
    ) throws(CommandError) -> [ForeignEndpoint] {
        let endpoints = Dictionary(try list("endpoints").map { ($0.text("uid"), $0) }) { $1 }
        var unused = endpoints
        var found: [ForeignEndpoint] = []
        for subscription in try list("subscriptions") {
            let label = "subscription \(subscription.text("name"))"
            let id = subscription["endpoint_metadata"]?.text("uid") ?? ""
            guard let endpoint = endpoints[id] else {
                try report("\(label): it has no endpoint with a URL")
                continue
            }
            unused[id] = nil
            for line in try lost(ofSubscription: subscription) { try report("\(label): \(line)") }
            for line in lost(ofEndpoint: endpoint) { try report("endpoint \(endpoint.text("url")): \(line)") }
            let settings = try self.settings(endpoint, subscription)
            let isDisabled = !["active", ""].contains(endpoint.text("status"))
            found.append(ForeignEndpoint(url: endpoint.text("url"), settings: settings, isDisabled: isDisabled))
        }
        for endpoint in unused.values.sorted(by: { $0.text("uid") < $1.text("uid") }) {
            try report("endpoint \(endpoint.text("url")): it has no subscription")
        }
        return found
    }

    /// The settings of a subscription that its webhook does not have, a line for each.
    private func lost(ofSubscription subscription: JSONValue) throws(CommandError) -> [String] {
        var lines: [String] = []
        var filters: [(filter: JSONValue?, words: String)] = []
        // Newer servers have a filter for each event type, which begins as a copy of that of the subscription, and use these only.
        let own = try server.find(path + ["subscriptions", subscription.text("uid"), "filters"])?.list("data") ?? []
        if own.isEmpty { filters.append((subscription["filter_config"]?["filter"], "")) }
        for filter in own {
            let type = filter.text("event_type")
            if filter["enabled_at"]?.isNull == true {
                lines.append("event type \(type) is disabled: remove it from the events of the delegate")
            } else {
                filters.append((filter, " for the event type \(type)"))
            }
        }
        for (filter, words) in filters {
            for name in ["headers", "query", "path", "body"] {
                guard let part = filter?[name], part.kind == .object, part.count > 0 else { continue }
                lines.append("filter of the \(name)\(words): write a filter of the delegate")
            }
        }
        if let function = subscription["function"]?.string, !function.isEmpty {
            lines.append("function: write a template of the body")
        }
        if subscription.text("delivery_mode") == "at_most_once" {
            lines.append("delivery mode at_most_once: Herald retries; set retry_schedule to []")
        }
        if let source = subscription["source_metadata"], source.kind == .object, !source.text("uid").isEmpty {
            lines.append("source \(source.text("name")): the delegate gets the events of all sources")
        }
        return lines
    }

    /// The settings of an endpoint that its webhook does not have, a line for each.
    private func lost(ofEndpoint endpoint: JSONValue) -> [String] {
        var lines: [String] = []
        for name in ["oauth2", "mtls_client_cert"] {
            let value = endpoint[name] ?? endpoint["authentication"]?[name]
            if let value, value.kind == .object { lines.append("\(name): set it for the delegate") }
        }
        let type = endpoint.text("content_type")
        if !["", "application/json"].contains(type) {
            lines.append("content type \(type): write a template of the body, and a form")
        }
        if let timeout = endpoint["http_timeout"]?.integer, timeout > Self.maxTimeout {
            lines.append("timeout of \(timeout) s: that of the delegate is \(Self.maxTimeout) s")
        }
        if endpoint["advanced_signatures"]?.bool == true, versions.count > 1 {
            lines.append("\(versions.count) signatures in each request: Herald sends the last one")
        }
        return lines
    }

    private func settings(_ endpoint: JSONValue, _ subscription: JSONValue) throws(CommandError) -> JSONValue {
        let types = subscription["filter_config"]?["event_types"]
        // The last one signs. Those that were replaced expire.
        let secret = endpoint.list("secrets").last {
            $0["expires_at"]?.string == nil && $0["deleted_at"]?.string == nil
        }
        let authentication = endpoint["authentication"]
        let limit = Double(endpoint["rate_limit"]?.integer ?? 0)
        let seconds = Double(max(endpoint["rate_limit_duration"]?.integer ?? 0, 1))
        let request = RawJSON.object { object in
            object.member("body", "data")
            object.member("sign", [scheme(isAdvanced: endpoint["advanced_signatures"]?.bool == true)])
            if let basic = authentication?["basic_auth"], basic.kind == .object {
                object.object("auth") { auth in
                    auth.object("basic") {
                        $0.member("user", basic.text("username"))
                        $0.member("password", basic.text("password"))
                    }
                }
            }
        }
        return try JSONValue.made { object in
            object.member("url", endpoint.text("url"))
            if let types, types.count > 0 { object.member("events", types) } else { object.member("events", ["*"]) }
            object.member("description", endpoint.text("description"))
            object.object("metadata") { metadata in
                metadata.member("convoy_subscription", subscription.text("uid"))
                let owner = endpoint.text("owner_id")
                if !owner.isEmpty { metadata.member("convoy_owner", owner) }
            }
            if limit > 0 { object.member("rate_limit", limit / seconds) }
            if let timeout = endpoint["http_timeout"]?.integer, timeout > 0 {
                object.member("timeout_seconds", min(timeout, Self.maxTimeout))
            }
            object.member("request", request)
            if let secret { object.member("secret", secret.text("value")) }
            if let key = authentication?["api_key"], key.kind == .object, !key.text("header_name").isEmpty {
                object.object("headers") { $0.member(key.text("header_name"), key.text("header_value")) }
            }
        }
    }

    /// How the project signs: its header, and the last of its versions.
    private func scheme(isAdvanced: Bool) -> RawJSON {
        let version = versions.last
        let header = project["config"]?["signature"]?.text("header") ?? ""
        return .object { object in
            object.member("header", header.isEmpty ? "X-Convoy-Signature" : header)
            object.member("algorithm", version?.text("hash") == "SHA512" ? "hmac-sha512" : "hmac-sha256")
            object.member("encoding", version?.text("encoding") == "base64" ? "base64" : "hex")
            object.member("content", isAdvanced ? "{timestamp},{body}" : "{body}")
            object.member("value", isAdvanced ? "t={timestamp},v\(max(versions.count, 1))={signature}" : "{signature}")
        }
    }

    /// How the project signs. With advanced signatures a request has one of each, and the number of the version is before it.
    private var versions: [JSONValue] { project["config"]?["signature"]?.list("versions") ?? [] }

    private var path: [String] { ["projects", project.text("uid")] }

    private func list(_ name: String) throws(CommandError) -> [JSONValue] {
        var found: [JSONValue] = []
        var cursor: String?
        while true {
            let query = [("perPage", Self.pageSize), ("direction", "next"), ("next_page_cursor", cursor)]
            let page = try server.get(path + [name], query)["data"]
            guard let content = page?["content"], content.kind == .array || content.isNull else {
                throw server.wrong("its response is not a list")
            }
            if content.kind == .array { found += content.elements }
            let next = page?["pagination"]?["next_page_cursor"]?.string
            guard page?["pagination"]?["has_next_page"]?.bool == true, let next, next != cursor else { return found }
            cursor = next
        }
    }
}
