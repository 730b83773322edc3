/// An event with its place in the log.
public struct LoggedEvent: Sendable {
    public let sequence: LogPosition
    public let event: Event
    public init(sequence: LogPosition, event: Event) {
        self.sequence = sequence
        self.event = event
    }
}

/// Which events of the log to list.
public struct EventQuery: Sendable {
    public var app: AppKey = .default
    public var type: EventPattern = .any
    public var subject: String?
    /// Milliseconds since 1970, both inclusive.
    public var since: Int64?
    public var until: Int64?
    /// Only events before this place: how the next page is asked for.
    public var before: LogPosition?
    /// Only events after this place.
    public var after: LogPosition = 0
    /// ≥ 1.
    public var limit: Int = 50
    public init() {}
}

/// Which attempts of a delegate to list.
public struct AttemptQuery: Sendable {
    public var delegate: DelegateKey
    public var event: LogPosition?
    /// `true`: only successes; `false`: only failures.
    public var succeeded: Bool?
    /// Only attempts with a smaller id.
    public var before: Int64?
    public var limit: Int = 50
    public init(delegate: DelegateKey) { self.delegate = delegate }
}
