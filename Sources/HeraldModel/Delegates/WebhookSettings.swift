import HeraldJSON
import HeraldRuntime

/// The settings of a webhook. The hub validates them when the webhook is registered or changed.
public struct WebhookSettings: Equatable, Sendable {
    /// The format of a callback's body.
    public enum Format: String, Sendable, CaseIterable {
        /// JSON with `type`, `timestamp`, `subject` and `data`, as defined by Standard Webhooks.
        case standard
        /// A CloudEvent as one JSON object.
        case cloudevents
        /// A CloudEvent whose attributes are headers and whose data is the body.
        case cloudeventsBinary = "cloudevents_binary"
    }

    /// The order in which a delegate's events arrive.
    public enum Ordering: String, Sendable, CaseIterable {
        /// Any order: the fastest.
        case none
        /// Events with the same subject arrive in the order of the log, one at a time. Others are sent in parallel.
        case subject
        /// All events arrive in the order of the log, one at a time.
        case strict
    }

    /// How the owner of the address agrees to the callbacks.
    public enum Verification: String, Sendable, CaseIterable {
        /// It need not agree.
        case none
        /// A signed POST whose challenge must be returned.
        case challenge
        /// The OPTIONS handshake of the CloudEvents webhook specification.
        case cloudevents
    }

    /// The HTTP version of callbacks.
    public enum HTTPVersion: String, Sendable, CaseIterable {
        /// HTTP/1.1.
        case http1 = "1.1"
        /// HTTP/2, over TLS.
        case http2 = "2"
    }

    /// How the delegate gets its events. It can't be changed.
    package var kind: DelegateKind {
        get { rare.first?.kind ?? .webhook }
        set { setRare { $0.kind = newValue } }
    }
    /// The URL to call: `http://` or `https://`, without user information and fragment. Other webhooks may have it if none sends the
    /// same requests for the same events.
    public var url: String
    /// The event types to send; 1 to 64 patterns.
    public var events: [EventPattern]
    /// Only events with these subjects, exact or with `*` at the end for a prefix; empty for all. At most 1,000.
    public var subjects: [String]
    /// Only events whose content matches.
    public var filter: ContentFilter?
    /// Its purpose: at most 256 characters.
    public var description: String
    /// Metadata of the app: at most 32 pairs of at most 64 and 256 characters.
    public var metadata: [KeyValue]
    /// Additional request headers, at most 16; the hub sorts them by name. Names are tokens and not reserved; values have no
    /// control characters.
    public var headers: [KeyValue]
    /// Seconds before the second, third, … attempt; ≤ 20 entries.
    package var retrySchedule = defaultRetrySchedule
    /// One or none: few webhooks have any of these settings, and all would have their size.
    @usableFromInline var rare: [Rare] = []
    // A server has many webhooks: the small properties come together, so that none of them is padded. What each delivery reads is
    // inlinable: a call into this module would copy all settings.
    @usableFromInline var inFlightBound: Int32
    private var attemptSeconds: Int32 = 15
    @usableFromInline var patienceSeconds: Int32 = 5 * 86_400
    /// The format of a callback's body.
    public var format = Format.standard
    /// The order in which events arrive; `none` is the fastest.
    public var ordering = Ordering.none
    /// How the owner of the address agrees to the callbacks.
    public var verification = Verification.none
    /// The HTTP version of callbacks.
    public var httpVersion = HTTPVersion.http1

    /// The maximum number of open requests, 1–256.
    public var maxInFlight: Int {
        @inlinable get { Int(inFlightBound) }
        set { inFlightBound = Int32(clamping: newValue) }
    }
    /// The maximum number of requests per second, 0.01–10,000; `nil` for no limit.
    public var rateLimit: Double? {
        @inlinable get { rare.first?.rateLimit }
        set { setRare { $0.rateLimit = newValue } }
    }
    /// The time limit of one attempt, from its start to the end of the response; 1–60.
    package var timeoutSeconds: Int {
        get { Int(attemptSeconds) }
        set { attemptSeconds = Int32(clamping: newValue) }
    }
    /// The delegate is disabled when it has failed without a break for so long, 60–31,536,000.
    package var disableAfterSeconds: Int {
        @inlinable get { Int(patienceSeconds) }
        set { patienceSeconds = Int32(clamping: newValue) }
    }
    /// The delegate is removed when it is not renewed for this time, 10–31,536,000; `nil` for no lease.
    package var leaseSeconds: Int? {
        get { rare.first?.leaseSeconds }
        set { setRare { $0.leaseSeconds = newValue } }
    }
    /// Additional TLS settings of callbacks.
    public var tls: TLSSettings {
        get { rare.first?.tls ?? TLSSettings() }
        set { setRare { $0.tls = newValue } }
    }
    /// How events become requests; `nil` for the plain request of the format.
    public var request: Recipe? {
        get { rare.first?.request }
        set { setRare { $0.request = newValue } }
    }
    /// How long a consumer has to acknowledge what it has pulled, if it does not say, 5–43,200.
    package var ackSeconds: Int {
        get { rare.first?.ackSeconds ?? Rare().ackSeconds }
        set { setRare { $0.ackSeconds = newValue } }
    }

    @usableFromInline struct Rare: Equatable, Sendable {
        @usableFromInline var rateLimit: Double?
        var leaseSeconds: Int?
        var tls = TLSSettings()
        var request: Recipe?
        var kind = DelegateKind.webhook
        var ackSeconds = 60
    }

    private mutating func setRare(_ set: (inout Rare) -> Void) {
        var settings = rare.first ?? Rare()
        set(&settings)
        rare = settings == Rare() ? [] : [settings]
    }

    /// The first five are close together, for a receiver that fails occasionally. An outage uses none of them up.
    package static let defaultRetrySchedule: [Double] = [
        5, 10, 20, 40, 80, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400,
    ]

    /// The time limit of one attempt, from its start to the end of the response: 1 to 60 seconds, rounded up to whole
    /// seconds.
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

    /// The webhook is removed when its lease is not renewed for this time, 10 seconds to 365 days; `nil` for no lease.
    public var lease: Duration? {
        get { leaseSeconds.map { .seconds($0) } }
        set { leaseSeconds = newValue.map { Int(clamping: $0.components.seconds) } }
    }

    /// How long the receiver may fail without a break before the webhook is disabled: 1 minute to 365 days.
    public var disableAfter: Duration {
        get { .seconds(disableAfterSeconds) }
        set { disableAfterSeconds = Int(clamping: newValue.components.seconds) }
    }

    /// Settings with defaults for everything but the URL; the other properties can be set afterwards.
    /// - Parameters:
    ///   - url: the URL to call: `http://` or `https://`.
    ///   - events: the event types to send; 1 to 64 patterns.
    ///   - subjects: only these subjects, exact or with `*` at the end for a prefix; empty for all.
    ///   - description: the purpose of the webhook, at most 256 characters.
    ///   - metadata: metadata of the app.
    ///   - headers: additional headers of each request.
    ///   - maxInFlight: the maximum number of open requests, 1 to 256.
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
        inFlightBound = Int32(clamping: maxInFlight)
    }

    /// The URL without secrets; `nil` for a delegate that has none.
    package var shownURL: String? { kind == .webhook ? Self.withoutSecrets(url) : nil }

    /// The description, or else the URL; `nil` if there is neither.
    package var shownName: String? { [description, url].first { !$0.isEmpty } }

    /// A URL for others than the delegate's owner: only its origin, because paths and queries often contain a secret.
    package static func withoutSecrets(_ url: String) -> String {
        guard let scheme = url.place(of: "://") else { return "…" }
        let end = url[scheme.upperBound...].firstIndex { $0 == "/" || $0 == "?" } ?? url.endIndex
        let rest = url[end...]
        return url[..<end] + (rest.isEmpty || rest == "/" ? "/" : "/…")
    }
}

extension WebhookSettings {
    /// The name in the metadata of the app's own id of the delegate, which Svix's API calls `uid`.
    package static let uidKey = "svix_uid"

    /// The app's own id of the delegate; `nil` for none.
    package var uid: String? { metadata.first { $0.key == Self.uidKey }?.value }
}

extension WebhookSettings {
    /// Whether both have the same subjects by their bytes, which equal settings may not have.
    package func hasSubjects(of other: WebhookSettings) -> Bool {
        subjects.elementsEqual(other.subjects) { ExactText($0) == ExactText($1) }
    }
}
