/// A stretch of a log, oldest first, as it was read.
package protocol LogPage: Sendable {
    associatedtype Entry: Sendable
    /// It has everything that the log has after this place …
    var after: LogPosition { get }
    /// … up to this one; the same place when there was nothing.
    var last: LogPosition { get }
    var entries: [Entry] { get }
    /// Where in the log an entry is.
    /// - Parameter index: in `entries`.
    func place(_ index: Int) -> LogPosition
    /// What of it comes after a place within it.
    func rest(after place: LogPosition) -> Self
}

extension EventBatch: LogPage {
    package var after: LogPosition { first - 1 }
    package var entries: [Event] { events }
    package func place(_ index: Int) -> LogPosition { first + LogPosition(index) }
    package func rest(after place: LogPosition) -> EventBatch {
        EventBatch(first: place + 1, events: Array(events.dropFirst(Int(place - after))))
    }
}
