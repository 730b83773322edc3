/// A setting of a webhook, declared once. The rules, the fields of the HTTP API, the columns of the stores and the flags of the
/// command line follow from `all`.
///
/// A new number takes a property of `WebhookSettings`, a line here, a column in the schema of each store, a property in
/// `openapi.yaml`, and a line in the form of the dashboard. Tests compare them.
package struct WebhookField: Sendable {
    /// How a value is read from settings and put into them. Closures, because a key path would cost time for each
    /// delegate at the start.
    package struct Access<Value>: Sendable {
        package let get: @Sendable (WebhookSettings) -> Value
        package let set: @Sendable (inout WebhookSettings, Value) -> Void
    }

    /// One of a fixed set of words.
    package struct Choice: Sendable {
        package let words: [String]
        package let get: @Sendable (WebhookSettings) -> String
        /// `false` if the word is none of them.
        package let set: @Sendable (inout WebhookSettings, String) -> Bool
    }

    /// A setting with a form of its own: its rules and its texts are code.
    package enum Special: Sendable {
        case url, events, subjects, filter, metadata, headers, retrySchedule, tls, request
    }

    package enum Kind: Sendable {
        case integer(Access<Int>, ClosedRange<Int>)
        case optionalInteger(Access<Int?>, ClosedRange<Int>)
        case optionalNumber(Access<Double?>, ClosedRange<Double>)
        /// Text of at most so many characters.
        case text(Access<String>, max: Int)
        case choice(Choice)
        case special(Special)
    }

    /// The name in the HTTP API and of the column.
    package let name: String
    package let kind: Kind
    /// Its purpose, for the help of the command line.
    package let help: String

    package var pointer: String { "/" + name }

    /// `null` in a change resets a field to its value here.
    package static let defaults = WebhookSettings(url: "")

    /// How long a lease may last that is not extended, in seconds.
    package static let ackSecondsRange = 5...43_200

    /// In the order in which the HTTP API shows them.
    package static let all = [
        choice("kind", "Whether Herald sends the events or consumers pull them", { $0.kind }, { $0.kind = $1 }),
        special("url", .url, "The URL to call."),
        special("events", .events, "Types of events: order.paid,auth.*. Default: *, all types except herald.*."),
        special("subjects", .subjects, "Only events about these subjects."),
        special("filter", .filter, "Only events whose content matches."),
        text("description", max: 256, "For people.", { $0.description }, { $0.description = $1 }),
        special("metadata", .metadata, "For your own use. May be given again."),
        choice("format", "Format of the body", { $0.format }, { $0.format = $1 }),
        special("headers", .headers, "An extra header of the callbacks. May be given again."),
        choice("ordering", "Order of the deliveries", { $0.ordering }, { $0.ordering = $1 }),
        integer("max_in_flight", 1...256, "Requests open at once", { $0.maxInFlight }, { $0.maxInFlight = $1 }),
        number("rate_limit", 0.01...10_000, "Requests per second", { $0.rateLimit }, { $0.rateLimit = $1 }),
        integer(
            "timeout_seconds", 1...60, "Time limit of one attempt", { $0.timeoutSeconds }, { $0.timeoutSeconds = $1 }),
        special(
            "retry_schedule", .retrySchedule, "Seconds before the second, third, ... attempt: 5,60,3600."),
        optionalInteger(
            "lease_seconds", 10...31_536_000, "Remove the delegate when it is not renewed for this long",
            { $0.leaseSeconds }, { $0.leaseSeconds = $1 }),
        integer(
            "disable_after_seconds", 60...31_536_000, "Disable the delegate when it has failed for this long",
            { $0.disableAfterSeconds }, { $0.disableAfterSeconds = $1 }),
        choice(
            "verification", "How the receiver agrees to the callbacks", { $0.verification }, { $0.verification = $1 }),
        choice("http_version", "The version of HTTP", { $0.httpVersion }, { $0.httpVersion = $1 }),
        integer(
            "ack_seconds", ackSecondsRange, "Seconds to acknowledge pulled events", { $0.ackSeconds },
            { $0.ackSeconds = $1 }),
        special("tls", .tls, "Authorities, a pin and a client certificate."),
        special("request", .request, "How an event becomes a request, for receivers with a form of their own."),
    ]

    /// Whether the settings have the default of this field.
    package func isDefault(in settings: WebhookSettings) -> Bool {
        let defaults = Self.defaults
        return switch kind {
        case .integer(let access, _): access.get(settings) == access.get(defaults)
        case .optionalInteger(let access, _): access.get(settings) == access.get(defaults)
        case .optionalNumber(let access, _): access.get(settings) == access.get(defaults)
        case .text(let access, _): access.get(settings) == access.get(defaults)
        case .choice(let choice): choice.get(settings) == choice.get(defaults)
        case .special(let special):
            switch special {
            case .url: settings.url == defaults.url
            case .events: settings.events == defaults.events
            case .subjects: settings.subjects == defaults.subjects
            case .filter: settings.filter == defaults.filter
            case .metadata: settings.metadata == defaults.metadata
            case .headers: settings.headers == defaults.headers
            case .retrySchedule: settings.retrySchedule == defaults.retrySchedule
            case .tls: settings.tls == defaults.tls
            case .request: settings.request == defaults.request
            }
        }
    }

    private static let named = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// `nil` if no setting has this name.
    package static func named(_ name: String) -> WebhookField? { named[name] }

    // MARK: Declarations

    private typealias Get<Value> = @Sendable (WebhookSettings) -> Value
    private typealias Set<Value> = @Sendable (inout WebhookSettings, Value) -> Void

    private static func integer(
        _ name: String, _ range: ClosedRange<Int>, _ help: String, _ get: @escaping Get<Int>, _ set: @escaping Set<Int>
    ) -> WebhookField {
        WebhookField(name: name, kind: .integer(Access(get: get, set: set), range), help: help)
    }

    private static func optionalInteger(
        _ name: String, _ range: ClosedRange<Int>, _ help: String, _ get: @escaping Get<Int?>,
        _ set: @escaping Set<Int?>
    ) -> WebhookField {
        WebhookField(name: name, kind: .optionalInteger(Access(get: get, set: set), range), help: help)
    }

    private static func number(
        _ name: String, _ range: ClosedRange<Double>, _ help: String, _ get: @escaping Get<Double?>,
        _ set: @escaping Set<Double?>
    ) -> WebhookField {
        WebhookField(name: name, kind: .optionalNumber(Access(get: get, set: set), range), help: help)
    }

    private static func text(
        _ name: String, max: Int, _ help: String, _ get: @escaping Get<String>, _ set: @escaping Set<String>
    ) -> WebhookField {
        WebhookField(name: name, kind: .text(Access(get: get, set: set), max: max), help: help)
    }

    private static func choice<Value: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ help: String, _ get: @escaping Get<Value>, _ set: @escaping Set<Value>
    ) -> WebhookField {
        let choice = Choice(
            words: Value.allCases.map(\.rawValue), get: { get($0).rawValue },
            set: { settings, word in
                guard let value = Value(rawValue: word) else { return false }
                set(&settings, value)
                return true
            })
        return WebhookField(name: name, kind: .choice(choice), help: help)
    }

    private static func special(_ name: String, _ special: Special, _ help: String) -> WebhookField {
        WebhookField(name: name, kind: .special(special), help: help)
    }
}
