import HeraldCrypto
import HeraldJSON
import HeraldModel

/// Reads the configuration of a Svix server, by its HTTP API (https://api.svix.com/docs).
struct SvixServer: ForeignService {
    /// The most elements that a list of Svix gives at once.
    private static let pageSize = 250
    let server: ForeignServer

    init(_ call: Invocation) throws(CommandError) { server = try ForeignServer("Svix", call) }

    /// The members of an object that have no counterpart, a line for each.
    /// - Parameter members: their names, and those for people.
    private func lost(of object: JSONValue, _ why: String, _ members: [(key: String, words: String)]) -> [String] {
        var lines: [String] = []
        for (key, words) in members {
            guard let value = object[key], !value.isNull, value.bool != false else { continue }
            if value.kind == .object || value.kind == .array, value.count == 0 { continue }
            let line = "\(words) \(String(decoding: value.bytes, as: UTF8.self)): \(why)"
            if !lines.contains(line) { lines.append(line) }
        }
        return lines
    }

    func apps() throws(CommandError) -> [ForeignApp] {
        try list(["app"]).map { app in
            ForeignApp(
                id: app.text("id"), uid: app["uid"]?.string, title: app.text("name"),
                lost: lost(
                    of: app, "an app has none",
                    [("metadata", "metadata"), ("throttleRate", "throttle rate"), ("rateLimit", "throttle rate")]))
        }
    }

    /// The types that are not archived, with the latest of their schemas, which Svix does not enforce.
    func eventTypes(
        _ report: (String) throws(CommandError) -> Void
    ) throws(CommandError) -> [(key: String, value: JSONValue)] {
        var found: [(key: String, value: JSONValue)] = []
        for type in try list(["event-type"], [("with_content", "true")]) {
            let versions =
                type["schemas"]?.members.compactMap { member in Int(member.key).map { ($0, member.value) } } ?? []
            let latest = versions.max { $0.0 < $1.0 }?.1
            for line in lost(
                of: type, "Herald has no counterpart",
                [
                    ("deprecated", "deprecated"), ("featureFlags", "feature flags"), ("featureFlag", "feature flag"),
                    ("groupName", "group"),
                ])
            {
                try report("event type \(type.text("name")): \(line)")
            }
            let described = try JSONValue.made { object in
                object.member("type", type.text("name"))
                object.member("description", type.text("description"))
                if let latest { object.member("schema", latest) }
            }
            found.append((type.text("name"), described))
        }
        return found
    }

    func endpoints(
        of app: ForeignApp, _ report: (String) throws(CommandError) -> Void
    ) throws(CommandError) -> [ForeignEndpoint] {
        var found: [ForeignEndpoint] = []
        for endpoint in try list(["app", app.id, "endpoint"]) {
            let (id, url) = (endpoint.text("id"), endpoint.text("url"))
            let path = ["app", app.id, "endpoint", id]
            let secret = try server.get(path + ["secret"]).text("key")
            let headers = try server.get(path + ["headers"])
            for name in headers.list("sensitive") {
                try report(
                    "endpoint \(url): header \(name.string ?? ""): Svix does not show its value; add it to the delegate"
                )
            }
            let types = (endpoint["filterTypes"] ?? endpoint["eventTypes"]).flatMap { $0.count == 0 ? nil : $0 }
            let settings = try JSONValue.made { object in
                object.member("url", url)
                if let types { object.member("events", types) } else { object.member("events", ["*"]) }
                // A message of Svix has channels, which are an attribute of its event.
                if let channels = endpoint["channels"], channels.count > 0 {
                    object.object("filter") { $0.member("channels", channels) }
                }
                object.member("description", endpoint.text("description"))
                // With its uid, an endpoint is found by the operations of Svix that Herald serves.
                object.object("metadata") { pairs in
                    let uid = endpoint["uid"]?.string
                    // A tenant may have a value of this name, and an object has each name once.
                    for (key, value) in endpoint["metadata"]?.members.map({ $0 }) ?? []
                    where uid == nil || key != WebhookSettings.uidKey {
                        pairs.member(key, value)
                    }
                    pairs.member(WebhookSettings.uidKey, ifPresent: uid)
                }
                if let rate = endpoint["rateLimit"] ?? endpoint["throttleRate"], !rate.isNull {
                    object.member("rate_limit", rate)
                }
                object.object("request") {
                    $0.member("body", "data")
                    $0.member("sign", ["svix"])
                }
                object.member("secret", SecretText.prefixed(secret))
                if let values = headers["headers"], values.count > 0 {
                    object.member("headers", values)
                }
            }
            found.append(ForeignEndpoint(url: url, settings: settings, isDisabled: endpoint["disabled"]?.bool == true))
        }
        return found
    }

    private func list(_ path: [String], _ query: [(String, String?)] = []) throws(CommandError) -> [JSONValue] {
        var found: [JSONValue] = []
        var iterator: String?
        while true {
            let page = try server.get(path, query + [("limit", "\(Self.pageSize)"), ("iterator", iterator)])
            guard let data = page["data"], data.kind == .array else { throw server.wrong("its response is not a list") }
            found += data.elements
            let next = page["iterator"]?.string
            guard page["done"]?.bool == false, let next, next != iterator else { return found }
            iterator = next
        }
    }
}
