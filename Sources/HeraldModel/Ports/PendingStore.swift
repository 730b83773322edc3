/// An event that is to be published later.
package struct PendingEvent: Sendable {
    /// The order of events that are due at the same time.
    package let key: Int64
    package let event: Event
    /// Milliseconds since 1970 UTC.
    package let dueAt: Int64

    package init(key: Int64, event: Event, dueAt: Int64) {
        self.key = key
        self.event = event
        self.dueAt = dueAt
    }

    /// The maximum number of scheduled events of an app.
    package static let maxCount = 100_000
}

/// A scheduled event whose time has come.
package struct DueEvent: Sendable {
    package let pending: PendingEvent
    /// The log has an event with its id.
    package let isInLog: Bool

    package init(_ pending: PendingEvent, isInLog: Bool) {
        self.pending = pending
        self.isInLog = isInLog
    }
}

/// A scheduled event that one in the log has replaced.
package struct ReplacedEvent: Hashable, Sendable {
    package let key: Int64
    package let app: AppKey
    /// `Event.storedBytes`.
    package let bytes: Int64

    package init(key: Int64, app: AppKey, bytes: Int64) {
        self.key = key
        self.app = app
        self.bytes = bytes
    }
}

extension Event {
    /// Whether it replaces a scheduled event of its app: it has the same source and id (see ``EventID``).
    package func replaces(_ scheduled: Event) -> Bool {
        id == scheduled.id ? hasSource(of: scheduled) : id == scheduled.qualified().id
    }
}

/// The number of scheduled events of an app, and their bytes (`Event.storedBytes`).
package struct PendingCount: Equatable, Sendable {
    package let app: AppKey
    package var events: Int64
    package var bytes: Int64

    package init(app: AppKey, events: Int64 = 0, bytes: Int64 = 0) {
        self.app = app
        self.events = events
        self.bytes = bytes
    }
}

/// An app with scheduled events.
package struct PendingApp: Equatable, Sendable {
    package let app: AppKey
    /// When the earliest of its events is due, in milliseconds since 1970 UTC; `.max` if it has none.
    package let dueAt: Int64

    package init(app: AppKey, dueAt: Int64) {
        self.app = app
        self.dueAt = dueAt
    }
}

/// A page of the scheduled events of an app, the earliest first. Events whose id is in the log are left out.
package struct PendingQuery: Sendable {
    package struct Position: Sendable {
        package let dueAt, key: Int64

        package init(dueAt: Int64, key: Int64) {
            self.dueAt = dueAt
            self.key = key
        }
    }

    package var app: AppKey
    package var subject: String?
    /// The last one of the page before.
    package var after: Position?
    package var limit: Int
    /// The page ends after the event whose bytes exceed this number.
    package var maxBytes: Int

    package init(app: AppKey, limit: Int, maxBytes: Int = .max) {
        self.app = app
        self.limit = limit
        self.maxBytes = maxBytes
    }
}

/// The port for scheduled events inside a transaction. Deciding transactions only.
package protocol PendingTransaction: AnyObject {
    /// The scheduled event with this id.
    func pending(app: AppKey, id: String) throws(StoreError) -> PendingEvent?
    /// - Precondition: no scheduled event of the app has this id; otherwise `StoreError.failed`.
    func addPending(_ event: Event, dueAt: Int64) throws(StoreError)
    /// Changes the time of a scheduled event. Ignores an unknown id.
    func movePending(app: AppKey, id: String, to dueAt: Int64, time: Int64) throws(StoreError)
    /// Ignores unknown keys.
    func removePending(_ keys: [Int64]) throws(StoreError)
    /// The events that are due, the earliest first: at least one if there are any, and no more once their bytes exceed
    /// `maxBytes`. All apps.
    func duePending(at time: Int64, limit: Int, maxBytes: Int) throws(StoreError) -> [DueEvent]
    /// The events of an app that are due, with the bounds of `duePending(at:limit:maxBytes:)`.
    func duePending(of app: AppKey, at time: Int64, limit: Int, maxBytes: Int) throws(StoreError) -> [DueEvent]
    /// The apps whose count of scheduled events is not 0, in the order of their keys: at most `limit` of those after `app`.
    /// Reads one scheduled event of each.
    func pendingApps(after app: AppKey, limit: Int) throws(StoreError) -> [PendingApp]
    /// The scheduled events that these events of the log have replaced.
    func replacedPending(in range: ClosedRange<LogPosition>) throws(StoreError) -> Set<ReplacedEvent>
    /// The scheduled events about a subject, without their order.
    func pending(about subject: String, app: AppKey, limit: Int) throws(StoreError) -> [PendingEvent]
    /// Removes scheduled events of an app.
    /// - Returns: the number of removed events.
    func removePending(of app: AppKey, limit: Int) throws(StoreError) -> Int
    /// When the next event is due; `nil` if none is scheduled.
    func nextPending() throws(StoreError) -> Int64?
    /// Stores the count of an app.
    func setPendingCount(_ count: PendingCount) throws(StoreError)
}

/// Reads scheduled events.
package protocol PendingReader: AnyObject {
    func pending(app: AppKey, id: String) throws(StoreError) -> PendingEvent?
    func pending(_ query: PendingQuery) throws(StoreError) -> [PendingEvent]
    /// When the next event is due; `nil` if none is scheduled.
    func nextPending() throws(StoreError) -> Int64?
}
