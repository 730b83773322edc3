package import HeraldModel

/// A page of a log, oldest entry first.
package protocol LogPage: Sendable {
    associatedtype Entry: Sendable
    /// The page has all entries of the log after this position …
    var after: LogPosition { get }
    /// … up to this one. Both are the same if the page is empty.
    var last: LogPosition { get }
    var entries: [Entry] { get }
    /// The apps that have entries.
    var apps: Set<AppKey> { get }
    /// The size of the entries in memory, without a constant for each.
    var bytes: Int { get }
    /// The position of an entry in the log.
    /// - Parameter index: in `entries`.
    func place(_ index: Int) -> LogPosition
    /// The part of the page after a position within it.
    func rest(after place: LogPosition) -> Self
}

extension EventBatch: LogPage {
    package var after: LogPosition { first - 1 }
    package var entries: [Event] { events }
    package var apps: Set<AppKey> { Set(events.lazy.map(\.app)) }
    package var bytes: Int { events.reduce(0) { $0 + $1.body.count } }
    package func place(_ index: Int) -> LogPosition { first + LogPosition(index) }
    package func rest(after place: LogPosition) -> EventBatch {
        EventBatch(first: place + 1, events: Array(events.dropFirst(Int(place - after))))
    }
}
