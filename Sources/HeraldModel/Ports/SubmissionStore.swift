/// An event that a program has published with SQL, in a transaction of its own: as the database has it, not validated.
package struct Submission: Sendable {
    package let key: Int64
    package let app: AppKey
    package let id: String
    package let type: String
    package let subject: String?
    /// When it was published, in milliseconds since 1970 UTC.
    package let time: Int64
    package let data: [UInt8]
    /// When the event is to be published; `nil`: at once.
    package let deliverAt: Int64?

    package init(
        key: Int64, app: AppKey, id: String, type: String, subject: String?, time: Int64, data: [UInt8],
        deliverAt: Int64?
    ) {
        self.key = key
        self.app = app
        self.id = id
        self.type = type
        self.subject = subject
        self.time = time
        self.data = data
        self.deliverAt = deliverAt
    }
}

/// An event that was published with SQL and committed, and is not valid: it is kept with the reason.
package struct RefusedEvent: Sendable {
    package let submission: Submission
    package let reason: String
    /// Milliseconds since 1970 UTC.
    package let refusedAt: Int64

    package init(_ submission: Submission, reason: String, refusedAt: Int64) {
        self.submission = submission
        self.reason = reason
        self.refusedAt = refusedAt
    }

    /// The events that are kept.
    package static let limit: Int64 = 10_000
    /// The number of events beyond the limit before some are removed: counting reads all of them.
    package static let slack = 500
}

/// The port for events from SQL inside a transaction. Deciding transactions only.
package protocol SubmissionTransaction: AnyObject {
    /// Removes events from SQL.
    /// - Returns: the keys of those that were removed; `true` if the log has an event with the id.
    func removeSubmissions(_ keys: [Int64]) throws(StoreError) -> [Int64: Bool]
    /// Removes events from SQL about a subject, or of an app.
    /// - Returns: the number of removed events.
    func removeSubmissions(about subject: String?, app: AppKey, limit: Int) throws(StoreError) -> Int
    /// Keeps an event with a new key.
    func addRefused(_ event: RefusedEvent) throws(StoreError)
    /// Removes refused events beyond `RefusedEvent.limit` (`TableTrim`).
    func trimRefused() throws(StoreError)
    /// Removes refused events about a subject, or of an app.
    /// - Returns: the number of removed events.
    func removeRefused(about subject: String?, app: AppKey, limit: Int) throws(StoreError) -> Int
}

/// Reads events from SQL.
package protocol SubmissionReader: AnyObject {
    /// The oldest event of each app that waits, then the second ones, and so on: at least one if there are any, and no more once
    /// their data exceeds `maxBytes`. The apps follow `app` in the order of their keys, and behind the last one the first one.
    func submissions(after app: AppKey, limit: Int, maxBytes: Int) throws(StoreError) -> [Submission]
    /// The refused events of an app, newest first, with smaller keys than `key`.
    func refused(_ app: AppKey, before key: Int64, limit: Int) throws(StoreError) -> [RefusedEvent]
}

/// A store into which no program can publish with SQL.
extension SubmissionTransaction {
    package func removeSubmissions(_ keys: [Int64]) -> [Int64: Bool] { [:] }
    package func removeSubmissions(about subject: String?, app: AppKey, limit: Int) -> Int { 0 }
}

extension SubmissionReader {
    package func submissions(after app: AppKey, limit: Int, maxBytes: Int) -> [Submission] { [] }
}
