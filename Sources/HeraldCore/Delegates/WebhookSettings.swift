/// What the owner of a webhook chooses. The hub checks the ranges when the webhook is registered or changed.
public struct WebhookSettings: Equatable, Sendable {
    /// What a callback's body looks like.
    public enum Format: String, Sendable, CaseIterable {
        /// JSON with `type`, `timestamp`, `subject` and `data`, as Standard Webhooks recommends.
        case standard
        /// A CloudEvent as one JSON object.
        case cloudevents
        /// A CloudEvent whose attributes are headers and whose data is the body.
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
    package enum Verification: String, Sendable, CaseIterable {
        case none
        /// A signed POST whose challenge must come back.
        case challenge
        /// The OPTIONS handshake of the CloudEvents webhook specification.
        case cloudevents
    }

    /// The version of HTTP that callbacks use.
    public enum HTTPVersion: String, Sendable, CaseIterable {
        /// HTTP/1.1.
        case http1 = "1.1"
        /// HTTP/2, over TLS.
        case http2 = "2"
    }

    /// What is called: `http://` or `https://`, without user information and fragment. No two webhooks have the same.
    public var url: String
    /// Any of these types; 1 to 64.
    public var events: [EventPattern]
    /// Only events about these subjects, exact or with `*` at the end for a prefix; empty: any. At most 1,000.
    public var subjects: [String]
    /// Only events whose content matches.
    public var filter: ContentFilter?
    /// What it is for, in a few words: at most 256 characters.
    public var description: String
    /// Whatever the app wants to note with the webhook: at most 32 pairs of at most 64 and 256 characters.
    public var metadata: [KeyValue]
    /// What a callback's body looks like.
    public var format = Format.standard
    /// Extra request headers, in order, at most 16. Names are tokens and not reserved; values hold no control characters.
    public var headers: [KeyValue]
    /// What is kept of the order of the log; `none` is the fastest.
    public var ordering = Ordering.none
    /// Requests open at once, 1–256.
    public var maxInFlight: Int
    /// Requests a second, 0.01–10,000; `nil`: no limit.
    public var rateLimit: Double?
    /// For one attempt, from its start to the end of the answer; 1–60.
    package var timeoutSeconds = 15
    /// Seconds before the second, third, … attempt; ≤ 20 entries.
    package var retrySchedule = defaultRetrySchedule
    /// The delegate is removed when it is not renewed for so long, 10–31,536,000; `nil`: it stays.
    package var leaseSeconds: Int?
    /// The delegate is disabled when it has failed without a break for so long, 60–31,536,000.
    package var disableAfterSeconds = 5 * 86_400
    package var verification = Verification.none
    /// The version of HTTP that callbacks use.
    public var httpVersion = HTTPVersion.http1
    /// What callbacks ask of TLS beyond what always holds.
    public var tls = TLSSettings()

    /// The first five are close together, for a receiver that fails now and then. While it is down none is used up.
    package static let defaultRetrySchedule: [Double] = [
        5, 10, 20, 40, 80, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400,
    ]

    /// How long one attempt may take, from its start to the end of the response: 1 to 60 seconds. A fraction of a second
    /// counts as a whole one.
    public var timeout: Duration {
        get { .seconds(timeoutSeconds) }
        set {
            let seconds = Int(clamping: newValue.components.seconds)
            timeoutSeconds = newValue.components.attoseconds > 0 && seconds < .max ? seconds + 1 : seconds
        }
    }

    /// The delays before the second, third, … attempt: at most 20, each at most 7 days.
    public var retryDelays: [Duration] {
        get { retrySchedule.map { .seconds($0) } }
        set { retrySchedule = newValue.map { $0 / .seconds(1) } }
    }

    /// How long the receiver may fail without a break before the webhook is disabled: 1 minute to 365 days.
    public var disableAfter: Duration {
        get { .seconds(disableAfterSeconds) }
        set { disableAfterSeconds = Int(clamping: newValue.components.seconds) }
    }

    /// Settings with defaults for everything but the URL; the other properties can be set afterwards.
    /// - Parameters:
    ///   - url: what is called: `http://` or `https://`.
    ///   - events: any of these types; 1 to 64.
    ///   - subjects: any of these subjects, exact or with `*` at the end for a prefix; empty: any.
    ///   - description: what the webhook is for, at most 256 characters.
    ///   - metadata: what the app wants to note with it.
    ///   - headers: extra headers of each request.
    ///   - maxInFlight: requests open at once, 1 to 256.
    public init(
        url: String, events: [EventPattern] = [.any], subjects: [String] = [], description: String = "",
        metadata: [KeyValue] = [], headers: [KeyValue] = [], maxInFlight: Int = 32
    ) {
        self.url = url
        self.events = events
        self.subjects = subjects
        self.description = description
        self.metadata = metadata
        self.headers = headers
        self.maxInFlight = maxInFlight
    }

    /// A URL as others than the delegate's owner may see it: queries often carry a password.
    package static func withoutQuery(_ url: String) -> String {
        guard let mark = url.firstIndex(of: "?") else { return url }
        return url[..<mark] + "?..."
    }
}
