/// The result for one published event.
public struct PublishedEvent: Sendable {
    /// Whether it was published, and if not, why.
    public enum Disposition: Equatable, Sendable {
        /// It is in the log, and delegates are called.
        case accepted
        /// Its id was published before; `event` is the first one. Delegates are not called again.
        case existed
        /// An app state equal to the current one, posted with `onlyIfChanged`: nothing was published.
        case unchanged
        /// `ifMatch` does not match the current value: nothing was published.
        case preconditionFailed
        /// It is published later, at `deliverAt`.
        case scheduled
    }
    /// The event in the log or the schedule; for `existed`, the first one.
    public let event: Event
    /// Whether this call added it to the log.
    public let disposition: Disposition
    /// For `existed`: where what was published now differs from the first event, as JSON pointers such as `/data`. Not
    /// empty: the id belongs to another event, and this one is not in the log.
    public let differences: [String]
    /// When a scheduled event is published, in milliseconds since 1970 UTC; `nil` for an event in the log.
    package let deliverAt: Int64?

    package init(
        event: Event, disposition: Disposition, differences: [String] = [], deliverAt: Int64? = nil
    ) {
        self.event = event
        self.disposition = disposition
        self.differences = differences
        self.deliverAt = deliverAt
    }
}
