/// An access key, without its text, which is shown once and not stored.
package struct APIKey: Equatable, Sendable {
    package let app: AppKey
    /// `key_` and a ULID, whose characters are the public part of the text.
    package let id: String
    package let name: String
    /// At least one, without duplicates.
    package let scopes: [Scope]
    /// SHA-256 of the whole text.
    package let digest: [UInt8]
    /// Milliseconds since 1970 UTC, like all times here.
    package let createdAt: Int64
    /// When it expires; `nil` for never.
    package var expiresAt: Int64?
    /// As last written; at most a minute old while the process runs. `nil` for never.
    package var lastUsedAt: Int64?
    /// The limit of requests per second, ≥ 1; `nil` for the server's default.
    package var requestsPerSecond: Int?
    /// The id of the only delegate that it opens, with the scope `consume`; `nil` for no limit.
    package var delegate: String?

    package init(
        app: AppKey = .default, id: String, name: String, scopes: [Scope], digest: [UInt8], createdAt: Int64,
        expiresAt: Int64? = nil, lastUsedAt: Int64? = nil, requestsPerSecond: Int? = nil, delegate: String? = nil
    ) {
        self.delegate = delegate
        self.app = app
        self.id = id
        self.name = name
        self.scopes = scopes
        self.digest = digest
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.requestsPerSecond = requestsPerSecond
    }

    package func isValid(at time: Int64) -> Bool { expiresAt.map { time < $0 } ?? true }
}

extension APIKey {
    package static let maxNameCharacters = 256
    package static let requestsPerSecondRange: ClosedRange<Int> = 1...1_000_000

    /// All errors, with the field names of the HTTP API.
    package var problems: [FieldError] {
        var errors: [FieldError] = []
        if name.unicodeScalars.count > Self.maxNameCharacters {
            errors.append(FieldError("/name", "must be a string of at most \(Self.maxNameCharacters) characters"))
        }
        if scopes.isEmpty || Set(scopes).count != scopes.count {
            errors.append(FieldError("/scopes", "must be at least one, each once"))
        }
        if scopes.contains(.admin), app != .default {
            errors.append(
                FieldError(
                    "/scopes",
                    "must be without admin: that is for keys of the app default, which open every app"))
        }
        if let limit = requestsPerSecond, !Self.requestsPerSecondRange.contains(limit) {
            errors.append(.integer("/requests_per_second", Self.requestsPerSecondRange))
        }
        if delegate != nil, scopes != [.consume] {
            errors.append(FieldError("/delegate", "must be without another scope than consume"))
        }
        if digest.count != 32 { errors.append(FieldError("", "must have a digest of 32 bytes")) }
        return errors
    }
}
