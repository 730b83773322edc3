import HeraldJSON
import HeraldModel

/// Which rows of a lane are only in the store. There is one for a lane with more rows than may be in memory.
///
/// - Rows that wait for a time: those whose due times are later than `horizon`.
/// - Rows that are queued behind another delivery about their subject: see `SubjectQueues`.
///
/// A row leaves memory once the store has it as it is, and no load is under way. So each load finds every row that had left
/// before it.
package struct StoredRows {
    /// The order in which rows that wait for a time are loaded.
    struct Due: Comparable {
        /// Milliseconds since 1970 UTC.
        let time: Int64
        let event: LogPosition

        static let first = Due(time: .min, event: .min)

        static func < (one: Due, other: Due) -> Bool { (one.time, one.event) < (other.time, other.event) }
    }

    /// `nil` if all rows that wait for a time are in memory.
    var horizon: Due?
    /// Deliveries that block their subject and are only in the store.
    var currents: [LogPosition: String] = [:]
    /// Redeliveries that a start has left in the store, of events that the lane had not read.
    var unread: Set<LogPosition> = []
    /// Subjects whose queue has to be loaded. `SubjectQueues` has the first event of each: one that leaves memory later may be earlier.
    var wanted: Set<ExactText> = []
    /// Deliveries that have ended, while the store may still have their rows.
    var removed: Set<LogPosition> = []
    /// The rows of all events up to this one are to be ended.
    var ended: LogPosition?
    /// The first event whose row may still have to be found for that. Those before it have ended, or stay in memory.
    var endsFrom = LogPosition.min
    /// The load that is under way.
    var loading: StoredRowsQuery.Part?
    /// Its rows are not what is to be loaded any more.
    var isLoadOutdated = false
    /// Approximate number of rows that are only in the store.
    var count = 0

    /// The rows are loaded by their times, all of them again.
    mutating func forgetSubjects() {
        currents = [:]
        wanted = []
        horizon = .first
        isLoadOutdated = loading != nil
    }
}
