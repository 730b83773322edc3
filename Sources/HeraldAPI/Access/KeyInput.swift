import HeraldCore
import HeraldCrypto
import HeraldJSON
import HeraldModel

/// Parses a new key: `{"app", "name", "scopes", "expires_at", "requests_per_second", "delegate"}`.
enum KeyInput {
    static let fields = ["app", "name", "scopes", "expires_at", "requests_per_second", "delegate"]

    /// - Parameters:
    ///   - app: the default app of the key.
    ///   - apps: for looking up the given app.
    ///   - registry: for looking up the given delegate.
    ///   - text: the text of the new key.
    ///   - now: milliseconds since 1970 UTC.
    /// - Throws: 422 with all invalid fields.
    static func read(
        _ document: JSONDocument, app: AppKey, _ apps: AppCatalogue, _ registry: Registry, _ text: KeyText, now: Int64
    ) throws(Problem) -> APIKey {
        var reader = FieldReader(document, fields: fields)
        let name = reader.member("name") { $0.text($1, $2) } ?? ""
        let app = reader.member("app") { $0.app($1, $2, apps) } ?? app
        let scopes = reader.scopes(document["scopes"], "/scopes")
        var end: Int64?
        if let value = document.nonNull("expires_at") {
            end = value.string.flatMap { Timestamp(rfc3339: $0) }?.milliseconds
            if end.map({ $0 <= now }) ?? true {
                reader.wrong("/expires_at", "must be an RFC 3339 time in the future, such as 2027-01-31T12:00:00Z")
            }
        }
        let limit = reader.member("requests_per_second") { $0.integer($1, $2) }
        var delegate: String?
        if let value = document.nonNull("delegate") {
            delegate = reader.text(value, "/delegate")
            let kind = registry.delegate(app, id: delegate ?? "")?.settings.kind
            if kind?.allows(.pull) != true {
                reader.wrong("/delegate", "must be the id of a delegate of kind pull, in the app of the key")
            }
        }
        let key = APIKey(
            app: app, id: text.id, name: name, scopes: scopes, digest: text.digest, createdAt: now, expiresAt: end,
            requestsPerSecond: limit, delegate: delegate)
        reader.add(key.problems)
        try reader.check()
        return key
    }

    /// How long a replaced key stays valid, in milliseconds: `{"overlap_seconds"}`.
    static func overlap(_ document: JSONDocument) throws(Problem) -> Int64 {
        var reader = FieldReader(document, fields: ["overlap_seconds"])
        let seconds = reader.member("overlap_seconds") { $0.integer($1, $2, 0...604_800) }
        try reader.check()
        return Int64(seconds ?? 86_400) * 1000
    }
}

extension FieldReader {
    /// By id or name.
    mutating func app(_ value: JSONValue, _ pointer: String, _ apps: AppCatalogue) -> AppKey? {
        let found = value.string.flatMap(apps.find)
        if found == nil { wrong(pointer, "must be the id or the name of an app") }
        return found?.key
    }

    /// At least one, without duplicates.
    fileprivate mutating func scopes(_ value: JSONValue?, _ pointer: String) -> [Scope] {
        guard let value, value.kind == .array, value.count > 0 else {
            wrong(pointer, "must be a list of at least one of " + Scope.words)
            return []
        }
        var scopes: [Scope] = []
        for (index, element) in value.elements.enumerated() {
            guard let scope = element.string.flatMap(Scope.init(rawValue:)) else {
                wrong("\(pointer)/\(index)", "must be " + Scope.words)
                continue
            }
            if !scopes.contains(scope) { scopes.append(scope) }
        }
        return scopes
    }
}
