/// A part of the rows of one delegate that wait for a retry.
package struct StoredRowsQuery: Equatable, Sendable {
    package enum Part: Equatable, Sendable {
        /// Rows that are due after this one, by time and event.
        case due(after: Int64, event: LogPosition)
        /// The rows of events with this subject, from an event on, by event.
        case subject(String, from: LogPosition)
        /// The rows of these events, by event.
        case events(ClosedRange<LogPosition>)
    }

    package let delegate: DelegateKey
    package let part: Part
    /// ≥ 1.
    package let limit: Int

    package init(delegate: DelegateKey, part: Part, limit: Int) {
        self.delegate = delegate
        self.part = part
        self.limit = limit
    }
}
