import HeraldJSON

/// When the events between two marks of the log were accepted, as far as that is known. Stores use it to find an event by time.
///
/// Acceptance times ascend in the log, and the marks bound them. Between two marks, the id of an event that the server has
/// named contains its acceptance time. The time of another event is its publisher's: it counts only if it is between the marks.
/// Of an event with neither, the acceptance time is unknown: it may have been accepted anywhere between its neighbors.
package struct AcceptanceWindow: Sendable {
    /// How far a time may be outside of the marks: events wait for their commit, and clocks of publishers differ.
    private static let slack: Int64 = 10_000
    private static let prefix: StaticString = "evt_"

    /// The events are after this position, up to `until`.
    package let after, until: LogPosition
    /// The bounds of acceptance times, in milliseconds since 1970 UTC.
    package let low, high: Int64

    /// - Parameters:
    ///   - before: the last mark before the requested time.
    ///   - later: the first mark at that time or after it.
    ///   - first, head: the ends of the log.
    ///   - now: milliseconds since 1970 UTC. Nothing was accepted later.
    package init(before: LogMark?, later: LogMark?, first: LogPosition, head: LogPosition, now: Int64) {
        after = max(first - 1, before?.sequence ?? 0)
        until = min(head, later?.sequence ?? head)
        low = before.map { $0.time - Self.slack } ?? Timestamp.earliest.milliseconds
        high = (later?.time ?? now) + Self.slack
    }

    package var isEmpty: Bool { after >= until }

    /// The position after the window.
    package var end: LogPosition { max(after, until) + 1 }

    /// The smallest id that the server gives at a time, and the largest.
    package static func ids(at time: Int64) -> (first: String, last: String) {
        // An id has 48 bits for its time.
        let time = min(max(0, time), (1 << 48) - 1)
        return (
            ULIDGenerator.text(prefix, time: time, high: 0, low: 0),
            ULIDGenerator.text(prefix, time: time, high: .max, low: .max)
        )
    }

    /// The bounds of ids that the server has given between the marks.
    package var ids: ClosedRange<String> { Self.ids(at: low).first...Self.ids(at: max(low, high)).last }
}
