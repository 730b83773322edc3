import Synchronization

/// One finished attempt, as a delivery loop reports it.
package struct AttemptRecord: Equatable, Sendable {
    package let delegate: DelegateKey
    package let event: LogPosition
    /// From 1.
    package let number: Int
    /// Milliseconds since 1970 UTC.
    package let startedAt: Int64
    /// Microseconds.
    package let duration: Int64
    /// The status of the response, `nil` without one.
    package let status: Int?
    /// Why there was no response, `nil` if there was one.
    package let failure: CallbackFailure?
    /// A description of the failure; empty if there is nothing to add.
    package let detail: String
    package let excerpt: [UInt8]
    /// It was a replay or redelivery.
    package var isReplay = false
    package var transport = TransportRecord()

    package init(
        delegate: DelegateKey, event: LogPosition, number: Int, startedAt: Int64, duration: Int64, status: Int?,
        failure: CallbackFailure?, detail: String, excerpt: [UInt8]
    ) {
        self.delegate = delegate
        self.event = event
        self.number = number
        self.startedAt = startedAt
        self.duration = duration
        self.status = status
        self.failure = failure
        self.detail = detail
        self.excerpt = excerpt
    }

    /// About what it takes in a store, with its entries in indexes. Stores count the same for those that they remove.
    package var storedBytes: Int { 64 + detail.utf8.count + excerpt.count }

    package var succeeded: Bool { status.map { (200...299).contains($0) } ?? false }
}

/// A stored attempt: `id` increases in the order in which attempts were recorded.
package struct StoredAttempt: Equatable, Sendable {
    package let id: Int64
    package let record: AttemptRecord
    package init(id: Int64, record: AttemptRecord) {
        self.id = id
        self.record = record
    }
}

/// The attempts that a transaction has removed.
package struct RemovedAttempts: Equatable, Sendable {
    package var count: Int
    /// The sum of `AttemptRecord.storedBytes`.
    package var bytes: Int64
    package init(count: Int, bytes: Int64) {
        self.count = count
        self.bytes = bytes
    }
}

/// A delivery with a row of its own: it failed, was redelivered, or waits for another one of its subject.
package struct WaitingDelivery: Equatable, Sendable {
    package enum State: Int, Sendable, CaseIterable {
        /// There will be another attempt at `dueAt`.
        case retrying = 1
        /// The schedule is used up.
        case exhausted = 2
        /// It was ended by an operator, by the receiver, or with its delegate.
        case dropped = 3
        /// The delegate was changed, and no longer wanted the event when the retry was due.
        case unwanted = 4
        /// The event is damaged in the store: there is nothing to send.
        case damaged = 5

        /// There will be no other attempt, and none succeeded.
        package static let ended: Set<State> = [.exhausted, .dropped, .unwanted, .damaged]
    }
    package let delegate: DelegateKey
    package let event: LogPosition
    /// The number of attempts.
    package let attempts: Int
    /// The number of attempts among them that used up no step of the retry schedule.
    package let uncounted: Int
    /// Milliseconds since 1970 UTC; for an ended delivery, the time of its end.
    package let dueAt: Int64
    package let state: State
    /// It is a replay or redelivery.
    package let isReplay: Bool
    /// It was redelivered by event and delegate: the delegate's settings are ignored.
    package let isNamed: Bool
    /// A consumer that had pulled it did not acknowledge it in time: it is handed out without others.
    package var isAlone = false
    /// It was requested again before it was delivered once: later ones wait for it in the order of its lane. If it has ended, the
    /// lane has read its event, and does not deliver it any more.
    package var isFirst = false
    /// The event's subject. Not stored: read with the event, `nil` when a checkpoint is written.
    package let subject: String?

    package init(
        delegate: DelegateKey, event: LogPosition, attempts: Int, dueAt: Int64, state: State, isReplay: Bool = false,
        isNamed: Bool = false, uncounted: Int = 0, subject: String? = nil
    ) {
        self.delegate = delegate
        self.event = event
        self.attempts = attempts
        self.dueAt = dueAt
        self.state = state
        self.isReplay = isReplay
        self.isNamed = isNamed
        self.uncounted = uncounted
        self.subject = subject
    }
}

/// A selection of deliveries with a row of their own.
package struct DeliveryQuery: Sendable {
    package var app: AppKey = .default
    package var states: Set<WaitingDelivery.State>
    package var delegate: DelegateKey?
    package var event: LogPosition?
    /// Only these events, both inclusive.
    package var events: ClosedRange<LogPosition>?
    /// Only deliveries after this one in the order of the list: by event and delegate, newest first.
    package var before: DeliveryKey?
    /// Conditions that no index serves; `nil` for none.
    package var filter: DeliveryFilter?
    /// ≥ 1.
    package var limit: Int = 50
    /// With a filter, the maximum number of deliveries of a state that one search reads, ≥ 1: some 100 milliseconds where the
    /// pages of their events and attempts are not in memory.
    package var work = 2_000
    /// Without a delegate or an event, the number of deliveries of a state after which a search ends, also if they are those of other
    /// apps: some 50 milliseconds. A search always reads all deliveries of an event.
    package var passed = 100_000
    package init(_ states: Set<WaitingDelivery.State>) { self.states = states }

    /// Only deliveries to one delegate.
    package init(_ states: Set<WaitingDelivery.State>, to delegate: WebhookDelegate) {
        self.states = states
        app = delegate.app
        self.delegate = delegate.key
    }
}

/// The result of a search for deliveries with a row of their own, newest event first, with subjects.
package struct DeliveryPage: Equatable, Sendable {
    package var rows: [WaitingDelivery] = []
    /// The search ended here, because it has found enough or has read much: it continues after this delivery. `nil` if it is
    /// complete.
    package var rest: DeliveryKey?
    package init(rows: [WaitingDelivery] = [], rest: DeliveryKey? = nil) {
        self.rows = rows
        self.rest = rest
    }
}

/// The number of a delegate's deliveries in one state.
package struct DeliveryCount: Equatable, Sendable {
    package let delegate: DelegateKey
    package let deliveries: Int
    /// The newest event among them.
    package let newest: LogPosition
    package init(delegate: DelegateKey, deliveries: Int, newest: LogPosition) {
        self.delegate = delegate
        self.deliveries = deliveries
        self.newest = newest
    }
}

/// A replay of events for a delegate, beside its lane.
package struct Replay: Equatable, Sendable {
    /// Increasing, never reused.
    package let id: Int64
    package let delegate: DelegateKey
    /// It started after this position.
    package let start: LogPosition
    /// Everything up to this position is settled or has a row of its own.
    package var cursor: LogPosition
    /// The position of its last event.
    package let until: LogPosition
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64

    /// - Parameter start: `nil` if it has not advanced.
    package init(
        id: Int64, delegate: DelegateKey, start: LogPosition? = nil, cursor: LogPosition, until: LogPosition,
        createdAt: Int64
    ) {
        self.id = id
        self.delegate = delegate
        self.start = start ?? cursor
        self.cursor = cursor
        self.until = until
        self.createdAt = createdAt
    }
}

/// Identifies a delivery. A list has the larger ones first.
package struct DeliveryKey: Hashable, Comparable, Sendable {
    package let delegate: DelegateKey
    package let event: LogPosition
    package init(delegate: DelegateKey, event: LogPosition) {
        self.delegate = delegate
        self.event = event
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.event, left.delegate) < (right.event, right.delegate)
    }
}

extension WaitingDelivery {
    package var key: DeliveryKey { DeliveryKey(delegate: delegate, event: event) }

    /// The delivery made again by request: from the first attempt on, due at once.
    /// - Parameter time: milliseconds since 1970 UTC.
    package func again(at time: Int64) -> WaitingDelivery {
        var again = WaitingDelivery(
            delegate: delegate, event: event, attempts: 0, dueAt: time, state: .retrying, isReplay: true,
            subject: subject)
        again.isFirst = state == .retrying && (!isReplay || isFirst)
        return again
    }
}

/// The position of a lane that differs from the common position.
package struct LanePosition: Equatable, Sendable {
    package let delegate: DelegateKey
    /// Everything up to this position is settled: delivered, exhausted, waiting in a row of its own, or not wanted.
    package let cursor: LogPosition
    /// Events after this position were not processed. Between the two, some are in flight and others delivered.
    package let position: LogPosition

    /// - Parameter position: one before the cursor stands for the cursor: a lane that is offered no event that it wants
    ///   keeps the position of the last one that it wanted.
    package init(delegate: DelegateKey, cursor: LogPosition, position: LogPosition) {
        self.delegate = delegate
        self.cursor = cursor
        self.position = max(cursor, position)
    }
}

/// The changes of the delivery loops since their last checkpoint. Its size depends on the activity, not on the number
/// of delegates.
package struct Checkpoint: Sendable {
    /// Every lane of `shards` without a row of its own is settled up to this position. `nil` if unchanged.
    package var settled: LogPosition?
    package var shards = Shards.all
    package var attempts: [AttemptRecord] = []
    /// Rows to insert or replace.
    package var waiting: [WaitingDelivery] = []
    /// Rows to delete: delivered, or dropped.
    package var ended: [DeliveryKey] = []
    /// Rows to insert or replace.
    package var lanes: [LanePosition] = []
    /// Lanes whose row is deleted: they are at the common position.
    package var caughtUp: [DelegateKey] = []
    /// The positions of replays. Ended ones are ignored.
    package var replays: [(id: Int64, delegate: DelegateKey, cursor: LogPosition)] = []
    package var endedReplays: [(id: Int64, delegate: DelegateKey)] = []
    /// Added to the existing counts.
    package var statistics: [DeliveryStatistics] = []
    /// Notices about delegates. The writer turns them into `herald.…` events and changes of the registry, in the same
    /// transaction.
    package var notices: [DeliveryNotice] = []
    /// Deliveries that will not be made, because retention removes their events. Added to the existing counts.
    package var missed: [Removal] = []
    /// The missed deliveries of a delegate that no notice has announced yet. Replaces the earlier number; 0 for none.
    package var unannounced: [DelegateKey: Int] = [:]
    /// The last change that was known when this was collected; `.max` before the first one is. A row that a later one has requested
    /// stays as it is, unless it was cancelled, and is in `ended` and `delivered`.
    package var known = Int64.max
    /// It is for a pull delegate: every process may record its attempts, and its lane always has a row.
    package var isOfPull = false
    /// The note of a store about a transaction with an unknown outcome: the checkpoint is submitted once more.
    package let note = Note()
    package init() {}

    /// Copies of a checkpoint have the same one.
    package final class Note: Sendable {
        private let number = Atomic<Int64>(0)
        /// 0 for nothing.
        package var value: Int64 {
            get { number.load(ordering: .relaxed) }
            set { number.store(newValue, ordering: .relaxed) }
        }
    }
}

extension Checkpoint {
    /// The deliveries with an attempt that has succeeded. One that was cancelled afterwards is delivered: its row is removed. Of
    /// others, a row that was cancelled stays.
    package var delivered: Set<DeliveryKey> {
        Set(attempts.lazy.filter(\.succeeded).map { DeliveryKey(delegate: $0.delegate, event: $0.event) })
    }

    /// Without what belongs to shards that another process may have. The attempts have been made, and notices are of this process.
    package func without(_ gone: Shards) -> Checkpoint {
        if gone.isEmpty { return self }
        var rest = self
        rest.shards.subtract(gone)
        if rest.shards.isEmpty { rest.settled = nil }
        rest.waiting.removeAll { gone.contains($0.delegate) }
        rest.ended.removeAll { gone.contains($0.delegate) }
        rest.lanes.removeAll { gone.contains($0.delegate) }
        rest.caughtUp.removeAll { gone.contains($0) }
        rest.replays.removeAll { gone.contains($0.delegate) }
        rest.endedReplays.removeAll { gone.contains($0.delegate) }
        // They are added to a row that its owner alone may change.
        rest.statistics.removeAll { gone.contains($0.delegate) }
        rest.notices.removeAll { gone.contains($0.delegate) }
        rest.unannounced = rest.unannounced.filter { !gone.contains($0.key) }
        return rest
    }
}
