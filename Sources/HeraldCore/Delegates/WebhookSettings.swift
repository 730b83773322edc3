/// What the owner of a webhook chooses. What is allowed, `WebhookRules` says.
public struct WebhookSettings: Equatable, Sendable {
    /// What a callback's body looks like.
    public enum Format: String, Sendable, CaseIterable {
        case standard, cloudevents
        case cloudeventsBinary = "cloudevents_binary"
    }

    /// What is kept between the events of one delegate.
    public enum Ordering: String, Sendable, CaseIterable {
        /// Nothing: the fastest.
        case none
        /// Events about one subject arrive in the order of the log, one at a time. Others run beside them.
        case subject
        /// All arrive in the order of the log, one at a time.
        case strict
    }

    /// How the owner of the address shows that they want the callbacks.
    public enum Verification: String, Sendable, CaseIterable {
        case none
        /// A signed POST whose challenge must come back.
        case challenge
        /// The OPTIONS handshake of the CloudEvents webhook specification.
        case cloudevents
    }

    public enum HTTPVersion: String, Sendable, CaseIterable {
        case http1 = "1.1"
        case http2 = "2"
    }

    /// As libcurl prints it back: `http://` or `https://`, ASCII, without user information and fragment.
    public var url: String
    public var events: [EventPattern]
    /// Only events about these subjects; empty: any. See ``SubjectSelection``.
    public var subjects: [String]
    /// Only events whose content matches.
    public var filter: ContentFilter?
    public var description: String
    public var metadata: [KeyValue]
    public var format = Format.standard
    /// Extra request headers, in order. Names are tokens and not reserved; values hold no control characters.
    public var headers: [KeyValue]
    public var ordering = Ordering.none
    /// Requests open at once, 1–256.
    public var maxInFlight: Int
    /// Requests a second, 0.01–10,000; `nil`: no limit.
    public var rateLimit: Double?
    /// For one attempt, from its start to the end of the answer; 1–60.
    public var timeoutSeconds: Int
    /// Seconds before the second, third, … attempt; ≤ 20 entries.
    public var retrySchedule: [Double]
    /// The delegate is removed when it is not renewed for so long, 10–31,536,000; `nil`: it stays.
    public var leaseSeconds: Int?
    public var verification = Verification.none
    public var httpVersion = HTTPVersion.http1
    public var tls = TLSSettings()

    /// The first five are close together, for a receiver that fails now and then. While it is down none is used up.
    public static let defaultRetrySchedule: [Double] = [
        5, 10, 20, 40, 80, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400,
    ]

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

    /// A URL as others than the delegate's owner may see it: queries often carry a password.
    public static func withoutQuery(_ url: String) -> String {
        guard let mark = url.firstIndex(of: "?") else { return url }
        return url[..<mark] + "?..."
    }
}
