/// The number of a delegate in the store: small, never reused, and how lanes, retries and attempts refer to it.
public typealias DelegateKey = Int64

/// A webhook that is told about events: its registration. Immutable; a change makes a new object with the same `key`.
public final class WebhookDelegate: Sendable {
    public enum Status: String, Sendable, CaseIterable {
        case active, paused
    }

    public let app: AppKey
    public let key: DelegateKey
    /// `dlg_` and a ULID.
    public let id: String
    public let settings: WebhookSettings
    public let status: Status
    /// The keys that sign each callback, newest first. Never empty.
    public let secrets: [SigningSecret]
    /// The delegate is told of events after this one.
    public let start: Sequence
    /// Milliseconds since 1970 UTC.
    public let createdAt: Int64
    public let updatedAt: Int64
    /// Counts the changes; the base of the `ETag`.
    public let version: Int64

    public init(
        app: AppKey, key: DelegateKey, id: String, settings: WebhookSettings, status: Status,
        secrets: [SigningSecret], start: Sequence, createdAt: Int64, updatedAt: Int64, version: Int64
    ) {
        self.app = app
        self.key = key
        self.id = id
        self.settings = settings
        self.status = status
        self.secrets = secrets
        self.start = start
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.version = version
    }
}

/// What the owner of a webhook chooses. Limits are those of the HTTP contract, checked where requests come in.
public struct WebhookSettings: Equatable, Sendable {
    /// As libcurl prints it back: `http://` or `https://`, ASCII, without user information and fragment.
    public var url: String
    public var events: [EventPattern]
    /// Only events about these subjects; empty: any.
    public var subjects: [String]
    public var description: String
    public var metadata: [KeyValue]
    /// Extra request headers, in order. Names are tokens and not reserved; values hold no control characters.
    public var headers: [KeyValue]
    /// Requests open at once, 1–256.
    public var maxInFlight: Int
    /// For one attempt, from its start to the end of the answer; 1–60.
    public var timeoutSeconds: Int
    /// Seconds before the second, third, … attempt; ≤ 20 entries.
    public var retrySchedule: [Double]

    public static let defaultRetrySchedule: [Double] = [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]

    public init(
        url: String, events: [EventPattern] = [.any], subjects: [String] = [], description: String = "",
        metadata: [KeyValue] = [], headers: [KeyValue] = [], maxInFlight: Int = 32, timeoutSeconds: Int = 15,
        retrySchedule: [Double] = defaultRetrySchedule
    ) {
        self.url = url
        self.events = events
        self.subjects = subjects
        self.description = description
        self.metadata = metadata
        self.headers = headers
        self.maxInFlight = maxInFlight
        self.timeoutSeconds = timeoutSeconds
        self.retrySchedule = retrySchedule
    }
}

public struct KeyValue: Hashable, Sendable {
    public let key: String
    public let value: String
    public init(_ key: String, _ value: String) {
        self.key = key
        self.value = value
    }
}

/// The bytes of an HMAC key, 24–64 of them. Prints as `***`, so that it can't reach a log by accident.
public struct SigningSecret: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    public let bytes: [UInt8]
    public init(bytes: [UInt8]) { self.bytes = bytes }
    public var description: String { "***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
