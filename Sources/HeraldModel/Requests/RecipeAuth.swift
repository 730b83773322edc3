import HeraldJSON

/// How requests prove who sends them, beside a signature: one object with one member, which is the kind.
package enum RecipeAuth: Equatable, Sendable {
    /// RFC 7617.
    case basic(user: String, password: String)
    /// Signature Version 4 of Amazon Web Services.
    case aws(region: String, service: String, keyID: String, secret: String)
    /// A bearer token of an authorization server, by RFC 6749, 4.4.
    case oauth2(OAuth2Client)

    package struct OAuth2Client: Equatable, Sendable {
        /// Where tokens are issued: `https://`, or `http://` where callbacks may use it.
        package let tokenURL: String
        package let id: String
        package let secret: String
        package let scope: String?
        /// The service that the token is for; some authorization servers need it.
        package let audience: String?
        /// Whether the client proves who it is by basic authentication, or by members of the form.
        package let usesBasic: Bool
    }

    private struct Kind {
        let name: String
        let required: [String]
        let optional: [String]
        /// A member of `required` that is never shown.
        let secret: String
    }

    private static let kinds = [
        Kind(name: "basic", required: ["user", "password"], optional: [], secret: "password"),
        Kind(name: "aws", required: ["region", "service", "key_id", "secret"], optional: [], secret: "secret"),
        Kind(
            name: "oauth2", required: ["token_url", "client_id", "client_secret"],
            optional: ["scope", "audience", "client_authentication"], secret: "client_secret"),
    ]

    /// The largest value of a member.
    private static let maxBytes = 2_048

    // MARK: Reading

    /// - Parameters:
    ///   - value: `auth`, with all its members.
    ///   - pointer: where it stands.
    ///   - errors: all errors are appended; then the result is `nil`.
    init?(_ value: JSONValue, at pointer: String, _ errors: inout [FieldError]) {
        let names = Self.kinds.map(\.name).joined(separator: ", ")
        guard let (name, members) = value.onlyMember,
            let kind = Self.kinds.first(where: { $0.name == name }), members.kind == .object
        else {
            errors.append(FieldError(pointer, "must be an object with one member, which is an object: \(names)"))
            return nil
        }
        let place = "\(pointer)/\(name)"
        let count = errors.count
        var texts: [String: String] = [:]
        for (key, value) in members.members {
            let place = JSONPointer.child(place, key)
            guard (kind.required + kind.optional).contains(key) else {
                errors.append(.noMember(place, of: kind.required + kind.optional))
                continue
            }
            guard let text = value.string, (1...Self.maxBytes).contains(text.utf8.count),
                text.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
            else {
                errors.append(
                    FieldError(place, "must be a text of 1 to \(Self.maxBytes) visible ASCII characters and spaces"))
                continue
            }
            texts[key] = text
        }
        for key in kind.required where members[key] == nil {
            errors.append(FieldError(JSONPointer.child(place, key), "is required"))
        }
        guard errors.count == count else { return nil }
        func text(_ key: String) -> String { texts[key] ?? "" }
        switch kind.name {
        case "basic":
            guard !text("user").contains(":") else {
                errors.append(FieldError("\(place)/user", "must not contain a colon"))
                return nil
            }
            self = .basic(user: text("user"), password: text("password"))
        case "aws":
            for key in ["region", "service", "key_id"]
            where !text(key).utf8.allSatisfy({ $0 != UInt8(ascii: ":") && $0 > 0x20 }) {
                errors.append(FieldError("\(place)/\(key)", "must not contain a colon or a space"))
            }
            guard errors.count == count else { return nil }
            self = .aws(
                region: text("region"), service: text("service"), keyID: text("key_id"), secret: text("secret"))
        default:
            let methods = ["basic", "body"]
            let method = texts["client_authentication"] ?? "basic"
            guard methods.contains(method) else {
                errors.append(FieldError("\(place)/client_authentication", "must be \"basic\" or \"body\""))
                return nil
            }
            self = .oauth2(
                OAuth2Client(
                    tokenURL: text("token_url"), id: text("client_id"), secret: text("client_secret"),
                    scope: texts["scope"], audience: texts["audience"], usesBasic: method == "basic"))
        }
    }

    // MARK: Merging and showing

    /// The members of `value` over those of `old`, if both are of one kind: so a change need not repeat the secret,
    /// which is never shown.
    static func merged(_ value: JSONValue, over old: JSONValue?) -> [UInt8] {
        guard let (name, members) = value.onlyMember,
            members.kind == .object, let before = old?[name], before.kind == .object
        else { return JSONWriter.document(of: CompactJSON(value)) }
        return JSONWriter.document { auth in
            auth.object(name) { object in
                for (key, value) in before.members where members[key] == nil { object.member(key, value) }
                for (key, value) in members.members where !value.isNull { object.member(key, CompactJSON(value)) }
            }
        }
    }

    static func withoutSecrets(_ value: JSONValue) -> [UInt8] {
        JSONWriter.document { auth in
            for (name, members) in value.members {
                let secret = kinds.first { $0.name == name }?.secret
                auth.object(name) { object in
                    for (key, value) in members.members where key != secret { object.member(key, value) }
                }
            }
        }
    }
}
