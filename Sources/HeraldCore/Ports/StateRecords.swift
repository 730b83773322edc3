/// The answer that an idempotency key was given.
public struct StoredAnswer: Equatable, Sendable {
    /// Of the request that it answered: another request with the same key is refused.
    public let fingerprint: [UInt8]
    public let status: Int
    public let headers: [KeyValue]
    public let body: [UInt8]
    public init(fingerprint: [UInt8], status: Int, headers: [KeyValue], body: [UInt8]) {
        self.fingerprint = fingerprint
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Whether a user is logged in.
public struct AuthStatus: Equatable, Sendable {
    public let app: AppKey
    public let userID: String
    public let isLoggedIn: Bool
    /// The user as the last login told it: a JSON object. Kept after a logout; `null` when never told.
    public let user: [UInt8]
    /// When the status last changed; milliseconds since 1970 UTC.
    public let since: Int64
    /// The event that changed it.
    public let eventID: String
    public init(app: AppKey, userID: String, isLoggedIn: Bool, user: [UInt8], since: Int64, eventID: String) {
        self.app = app
        self.userID = userID
        self.isLoggedIn = isLoggedIn
        self.user = user
        self.since = since
        self.eventID = eventID
    }
}

extension AuthStatus {
    /// Names the status as it is now, for `ETag` and `If-Match`: it changes with all that is shown, the user's data included.
    public var version: String {
        // FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): two versions of one user must differ, no more.
        let hash = user.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return eventID + "-" + String(hash, radix: 36)
    }

    /// The version while nobody has told whether the user is logged in.
    public static let unknownVersion = "unknown"
}

/// The last app state that was posted.
public struct AppState: Equatable, Sendable {
    public let app: AppKey
    /// A JSON value.
    public let state: [UInt8]
    /// Milliseconds since 1970 UTC.
    public let since: Int64
    /// The event that set it; names it, for `ETag` and `If-Match`.
    public let eventID: String

    /// The version while nobody has set one.
    public static let unknownVersion = "unknown"

    public init(app: AppKey, state: [UInt8], since: Int64, eventID: String) {
        self.app = app
        self.state = state
        self.since = since
        self.eventID = eventID
    }
}
