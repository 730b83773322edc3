/// What lets somebody in for a while without showing a key: a session of the dashboard, or a link that opens one. Its text is
/// kept nowhere.
package struct Session: Equatable, Sendable {
    package enum Kind: Int, Sendable {
        /// Of whoever has shown a key: may do what the key may.
        case session = 1
        /// To the dashboard of one app: opens any number of `portalSession`s.
        case link = 2
        case portalSession = 3
    }

    /// SHA-256 of the text.
    package let digest: [UInt8]
    package let kind: Kind
    package let app: AppKey
    /// The id of the key that it comes from, and ends with; another word where that is none of the store's.
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

    /// Links, and sessions of both kinds: when there are more sessions, the one that would end first goes.
    package static let limit = 10_000
}
