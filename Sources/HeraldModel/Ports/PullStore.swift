/// Events that a consumer has pulled and has not settled yet: a run of the log, or some deliveries with rows of their own.
///
/// Until it ends, no other consumer gets these events. A lease is kept in the store, so that it survives a crash of every
/// process.
package struct PullLease: Equatable, Sendable {
    package struct Entry: Equatable, Sendable {
        package let event: LogPosition
        /// The number of attempts before this one.
        package let attempts: Int
        /// The number of attempts among them that used up no step of the retry schedule.
        package let uncounted: Int
        /// The delivery has a row of its own, which is due when the lease ends.
        package let hasRow: Bool

        package init(_ event: LogPosition, attempts: Int = 0, uncounted: Int = 0, hasRow: Bool = false) {
            self.event = event
            self.attempts = attempts
            self.uncounted = uncounted
            self.hasRow = hasRow
        }
    }

    package let delegate: DelegateKey
    /// `ls_` and a ULID.
    package let id: String
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64
    /// When other consumers may get the events; milliseconds since 1970 UTC.
    package var expiresAt: Int64
    /// Ascending by event; 1 to `maxEvents`.
    package let entries: [Entry]

    package init(delegate: DelegateKey, id: String, createdAt: Int64, expiresAt: Int64, entries: [Entry]) {
        self.delegate = delegate
        self.id = id
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.entries = entries
    }

    /// The maximum number of events of a lease.
    package static let maxEvents = 1_000
    /// The maximum number of leases of a delegate at the same time.
    package static let maxCount = 1_000
    /// How long a lease may last, with all its extensions, in milliseconds: twelve hours.
    package static let maxAge: Int64 = 12 * 3_600_000

    /// The first event that has no row of its own: the log must keep it, and what follows.
    package var firstOfLog: LogPosition? { entries.first { !$0.hasRow }?.event }

    /// The rows among these that wait for its end. A row of its events that does not was written by a redelivery since.
    package func own(_ rows: [WaitingDelivery]) -> [WaitingDelivery] {
        if rows.isEmpty { return [] }
        let attempts: [LogPosition: Int] = entries.reduce(into: [:]) { if $1.hasRow { $0[$1.event] = $1.attempts } }
        return rows.filter { $0.dueAt == expiresAt && $0.attempts == attempts[$0.event] }
    }
}

/// The port for pull delegates inside a transaction. Deciding transactions only.
///
/// The lane of a pull delegate always has a row: its position is that of the last event that was pulled, and its cursor that
/// of the last event before all leases.
package protocol PullTransaction: AnyObject {
    /// The lane of a delegate; `nil` if it has no row.
    func lane(of delegate: DelegateKey) throws(StoreError) -> LanePosition?
    /// The lane of a delegate and its leases; `nil` if it has no row.
    /// - Parameter id: a lease that is read whole; `nil` for none.
    func pullState(of delegate: DelegateKey, lease id: String?) throws(StoreError) -> PullState?
    /// The missed deliveries of a delegate that were not announced yet.
    func unannounced(of delegate: DelegateKey) throws(StoreError) -> Int
    /// Leases that end at this time or before, the first one to end first.
    func leases(of delegate: DelegateKey, endedBy time: Int64, limit: Int) throws(StoreError) -> [PullLease]
    /// Leases with an event up to this one that has no row of its own, the oldest first.
    func leases(of delegate: DelegateKey, through last: LogPosition, limit: Int) throws(StoreError) -> [PullLease]
    /// Removes all leases of a delegate, and the rows of its deliveries behind a position, which are made again. Those up to the
    /// position that wait for a retry are dropped.
    /// - Parameter time: milliseconds since 1970 UTC.
    func forget(_ delegate: DelegateKey, after position: LogPosition, at time: Int64) throws(StoreError)
    /// Inserts or replaces a lease. Ignored for a deleted delegate.
    func set(_ lease: PullLease) throws(StoreError)
    /// Replaces a lease of the same delegate, which exists, in its row.
    func set(_ lease: PullLease, replacing id: String) throws(StoreError)
    func removeLease(_ id: String, of delegate: DelegateKey) throws(StoreError)
    /// The deliveries of a delegate with a row, in any state, of these events, ascending.
    func waiting(_ delegate: DelegateKey, _ events: [LogPosition]) throws(StoreError) -> [WaitingDelivery]
    /// The deliveries of a delegate that wait for a retry, of the events in a range, ascending.
    func retrying(
        _ delegate: DelegateKey, in events: ClosedRange<LogPosition>, limit: Int
    ) throws(StoreError) -> [WaitingDelivery]
    /// The names of these events, without those that the log lacks.
    func names(of events: [LogPosition]) throws(StoreError) -> [LogPosition: EventName]
}

extension PullTransaction {
    /// The deliveries of a delegate that wait for a retry, of these events, ascending.
    package func retrying(
        _ delegate: DelegateKey, _ events: [LogPosition]
    ) throws(StoreError) -> [WaitingDelivery] {
        try waiting(delegate, events).filter { $0.state == .retrying }
    }
}

/// The lane of a pull delegate and its leases: what a step of a consumer reads first, in one statement.
package struct PullState: Equatable, Sendable {
    package let lane: LanePosition
    /// The one that was named; `nil` if there is none, or it is settled.
    package let lease: PullLease?
    /// All leases besides it.
    package let others: LeaseTotals

    package init(lane: LanePosition, lease: PullLease?, others: LeaseTotals) {
        self.lane = lane
        self.lease = lease
        self.others = others
    }
}

/// Some leases of a delegate: the open ones, and those that have ended and are not settled yet.
package struct LeaseTotals: Equatable, Sendable {
    package private(set) var count: Int
    /// When the first of them ends; milliseconds since 1970 UTC. `nil` if there is none.
    package private(set) var firstEnd: Int64?
    /// The first of their events that has no row of its own; `nil` if there is none.
    package private(set) var firstEvent: LogPosition?

    package init(count: Int = 0, firstEnd: Int64? = nil, firstEvent: LogPosition? = nil) {
        self.count = count
        self.firstEnd = firstEnd
        self.firstEvent = firstEvent
    }

    package mutating func add(_ lease: PullLease) {
        count += 1
        firstEnd = min(lease.expiresAt, firstEnd ?? .max)
        if let event = lease.firstOfLog { firstEvent = min(event, firstEvent ?? .max) }
    }
}

/// The id and type of an event.
package struct EventName: Equatable, Sendable {
    package let id: String
    package let type: String
    package let isErased: Bool

    package init(id: String, type: String, isErased: Bool = false) {
        self.id = id
        self.type = type
        self.isErased = isErased
    }
}

/// Reads pull delegates.
package protocol PullReader: AnyObject {
    func lane(of delegate: DelegateKey) throws(StoreError) -> LanePosition?
    func pullState(of delegate: DelegateKey, lease id: String?) throws(StoreError) -> PullState?
    /// The first one to end first.
    func leases(of delegate: DelegateKey, endedBy time: Int64, limit: Int) throws(StoreError) -> [PullLease]
    /// The number of leases of all delegates.
    func countLeases() throws(StoreError) -> Int
}
