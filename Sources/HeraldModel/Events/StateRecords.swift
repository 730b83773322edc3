/// The response stored for an idempotency key.
package struct StoredAnswer: Equatable, Sendable {
    /// The fingerprint of the request: another request with the same key is refused.
    package let fingerprint: [UInt8]
    package let status: Int
    package let headers: [KeyValue]
    package let body: [UInt8]
    package init(fingerprint: [UInt8], status: Int, headers: [KeyValue], body: [UInt8]) {
        self.fingerprint = fingerprint
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Whether a user is logged in.
package struct AuthStatus: Equatable, Sendable {
    package let app: AppKey
    package let userID: String
    package let isLoggedIn: Bool
    /// The user of the last login: a JSON object. Kept after a logout; `null` if there was none.
    package let user: [UInt8]
    /// When the status last changed; milliseconds since 1970 UTC.
    package let since: Int64
    /// The event that changed it.
    package let eventID: String
    package init(app: AppKey, userID: String, isLoggedIn: Bool, user: [UInt8], since: Int64, eventID: String) {
        self.app = app
        self.userID = userID
        self.isLoggedIn = isLoggedIn
        self.user = user
        self.since = since
        self.eventID = eventID
    }
}

extension AuthStatus {
    /// The version of the status, for `ETag` and `If-Match`: it changes with everything that is returned, including the
    /// user's data.
    package var version: String {
        // FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): it must distinguish versions of one user, and
        // need not resist attacks.
        let hash = user.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return eventID + "-" + String(hash, radix: 36)
    }

    /// The version of a status that was never set.
    package static let unknownVersion = "unknown"
}

/// The version of the last app state that was posted.
package struct AppStateVersion: Equatable, Sendable {
    package let app: AppKey
    package let eventID: String

    package init(app: AppKey, eventID: String) {
        self.app = app
        self.eventID = eventID
    }
}

/// The last app state that was posted.
package struct AppState: Equatable, Sendable {
    package let app: AppKey
    /// A JSON value.
    package let state: [UInt8]
    /// Milliseconds since 1970 UTC.
    package let since: Int64
    /// The event that set it; also its version, for `ETag` and `If-Match`.
    package let eventID: String

    /// The version of a state that was never set.
    package static let unknownVersion = "unknown"

    package init(app: AppKey, state: [UInt8], since: Int64, eventID: String) {
        self.app = app
        self.state = state
        self.since = since
        self.eventID = eventID
    }
}
