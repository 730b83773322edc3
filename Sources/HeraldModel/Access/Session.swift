/// Temporary access without a key: a session of the dashboard, or a link that opens one. Its text is not stored.
package struct Session: Equatable, Sendable {
    package enum Kind: Int, Sendable {
        /// Opened with a key: has the key's scopes.
        case session = 1
        /// To the dashboard of one app: opens any number of `portalSession`s.
        case link = 2
        case portalSession = 3
    }

    /// SHA-256 of the text.
    package let digest: [UInt8]
    package let kind: Kind
    package let app: AppKey
    /// The id of the key that it comes from, and ends with; a placeholder if that key is not in the store.
    package let key: String
    /// Milliseconds since 1970 UTC.
    package let expiresAt: Int64

    package init(digest: [UInt8], kind: Kind, app: AppKey, key: String, expiresAt: Int64) {
        self.digest = digest
        self.kind = kind
        self.app = app
        self.key = key
        self.expiresAt = expiresAt
    }

    /// The limit of links, and of sessions of both kinds; beyond it, the session that would end first is removed.
    package static let limit = 10_000
}
