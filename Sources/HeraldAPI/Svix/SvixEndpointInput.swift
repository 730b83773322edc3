import HeraldCrypto
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// An `EndpointIn`, or an update or patch of it, as Herald's own input: `DelegateInput` has the rules.
struct SvixEndpointInput {
    private static let fields = [
        "url", "uid", "description", "metadata", "disabled", "filterTypes", "eventTypes", "channels", "rateLimit",
        "throttleRate", "version",
    ]
    private static let firstFields = ["secret", "headers"]
    /// The names of Svix's fields for the pointers of Herald's.
    static let names = [
        "/events": "/filterTypes", "/rate_limit": "/throttleRate", "/filter": "/channels",
        "/metadata/" + WebhookSettings.uidKey: "/uid",
    ]

    /// In Herald's form.
    let document: JSONDocument
    let isDisabled: Bool?
    let uid: String?
    /// Whether the channels are given, also as none.
    let hasChannels: Bool
    let channels: [String]?
    /// The metadata replaces that of the endpoint.
    let hasMetadata: Bool
    /// The static names, with the older names of fields if the input has those.
    let names: [String: String]

    /// - Parameter path: the `uid` of the path, if the input has none.
    init(_ given: JSONDocument, isNew: Bool, isWhole: Bool, uid path: String? = nil) throws(Problem) {
        var names = Self.names
        for (own, name, older) in [
            ("/events", "filterTypes", "eventTypes"), ("/rate_limit", "throttleRate", "rateLimit"),
        ] where given[name] == nil && given[older] != nil {
            names[own] = "/" + older
        }
        self.names = names
        var reader = FieldReader(given, fields: Self.fields + (isNew ? Self.firstFields : []))
        if isWhole, given["url"] == nil { reader.wrong("/url", "is required") }
        isDisabled = reader.member("disabled") { $0.flag($1, $2) }
        uid = reader.member("uid") { $0.text($1, $2) } ?? path
        if let uid, !uid.isPlainName(limit: 256) {
            reader.wrong("/uid", "must be 1 to 256 of a-z, A-Z, 0-9, -, _ and .")
        }
        hasChannels = isWhole || given["channels"] != nil
        channels = given["channels"].flatMap { SvixChannels.read($0, SvixChannels.ofEndpoint, &reader) }
        hasMetadata = isWhole || given.nonNull("metadata") != nil
        if let value = given.nonNull("metadata") {
            if value.kind != .object {
                reader.wrong("/metadata", "must be an object of strings")
            } else if value[WebhookSettings.uidKey] != nil {
                reader.wrong("/metadata/" + WebhookSettings.uidKey, "has the uid: give the field uid")
            }
        }
        _ = reader.member("version") { $0.integer($1, $2, 1...1) }
        try reader.check()
        let isUIDGiven = given["uid"] != nil || path != nil
        let (uid, channels) = (uid, channels)
        let json = JSONWriter.document(capacity: given.root.bytes.count + 128) { object in
            func copy(_ name: String, as own: String) {
                guard let value = given.nonNull(name) else { return }
                object.member(own, value)
            }
            copy("url", as: "url")
            copy("description", as: "description")
            if let types = given["filterTypes"] ?? given["eventTypes"] {
                let isAll = types.isNull || (types.kind == .array && types.count == 0)
                if isAll { object.member("events", ["*"]) } else { object.member("events", types) }
            } else if isWhole {
                object.member("events", ["*"])
            }
            if let rate = given["throttleRate"] ?? given["rateLimit"] {
                object.member("rate_limit", rate)
            } else if isWhole {
                object.member("rate_limit", JSONNull())
            }
            if given["metadata"] != nil || isUIDGiven {
                object.object("metadata") { pairs in
                    if let metadata = given["metadata"] {
                        for (key, value) in metadata.members { pairs.member(key, value) }
                    }
                    if isUIDGiven { pairs.member(WebhookSettings.uidKey, uid) }
                }
            }
            guard isNew else { return }
            copy("headers", as: "headers")
            if let channels { object.member("filter", .raw(SvixChannels.filter(channels))) }
            if let secret = given.nonNull("secret") {
                if let text = secret.string {
                    object.member("secret", SecretText.prefixed(text))
                } else {
                    copy("secret", as: "secret")
                }
            }
            object.member("request", .raw(Array(#"{"body": "data", "sign": ["svix"]}"#.utf8)))
        }
        document = try JSONDocument(reading: json)
    }
}
