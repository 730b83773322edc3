/// An event with its place in the log.
package struct LoggedEvent: Sendable {
    package let sequence: LogPosition
    package let event: Event
    package init(sequence: LogPosition, event: Event) {
        self.sequence = sequence
        self.event = event
    }
}

/// Which events of the log to list.
package struct EventQuery: Sendable {
    package var app: AppKey = .default
    package var type: EventPattern = .any
    package var subject: String?
    /// Milliseconds since 1970, both inclusive.
    package var since: Int64?
    package var until: Int64?
    /// Only events before this place: how the next page is asked for.
    package var before: LogPosition?
    /// Only events after this place.
    package var after: LogPosition = 0
    /// ≥ 1.
    package var limit: Int = 50
    package init() {}
}

/// Which attempts of a delegate to list.
package struct AttemptQuery: Sendable {
    package var delegate: DelegateKey
    package var event: LogPosition?
    /// `true`: only successes; `false`: only failures.
    package var succeeded: Bool?
    /// Only attempts with a smaller id.
    package var before: Int64?
    package var limit: Int = 50
    package init(delegate: DelegateKey) { self.delegate = delegate }
}
