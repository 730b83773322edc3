/// One finished attempt, as a delivery loop reports it.
package struct AttemptRecord: Equatable, Sendable {
    package let delegate: DelegateKey
    package let event: LogPosition
    /// 1 for the first.
    package let number: Int
    /// Milliseconds since 1970 UTC.
    package let startedAt: Int64
    /// Microseconds.
    package let duration: Int64
    /// The answer's status, `nil` when none came.
    package let status: Int?
    /// Why no answer came, `nil` when one did.
    package let failure: CallbackFailure?
    /// The failure in words; empty when there is nothing to add.
    package let detail: String
    package let excerpt: [UInt8]
    /// The event was asked for again.
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

    package var succeeded: Bool { status.map { (200...299).contains($0) } ?? false }
}

/// An attempt as the log has it: `id` increases in the order in which attempts were recorded.
package struct StoredAttempt: Equatable, Sendable {
    package let id: Int64
    package let record: AttemptRecord
    package init(id: Int64, record: AttemptRecord) {
        self.id = id
        self.record = record
    }
}

/// A delivery that has a row of its own: it failed, was asked for again, or stands behind another one of its subject.
package struct WaitingDelivery: Equatable, Sendable {
    package enum State: Int, Sendable, CaseIterable {
        /// There will be another attempt at `dueAt`.
        case retrying = 1
        /// The schedule is used up.
        case exhausted = 2
        /// Somebody ended it: an operator, the receiver, or the end of its delegate.
        case dropped = 3
        /// The delegate was changed, and did not want the event any more when it was to be tried again.
        case unwanted = 4
        /// The event is damaged in the store: there is nothing to send.
        case damaged = 5

        /// There will be no other attempt, and none succeeded.
        package static let ended: Set<State> = [.exhausted, .dropped, .unwanted, .damaged]
    }
    package let delegate: DelegateKey
    package let event: LogPosition
    /// How many were made.
    package let attempts: Int
    /// Milliseconds since 1970 UTC; of a delivery that has ended, when that was.
    package let dueAt: Int64
    package let state: State
    /// It was asked for again.
    package let isReplay: Bool
    /// It was asked for by its event and its delegate: it is made whatever the delegate wants.
    package let isNamed: Bool
    /// The event's subject. Not stored: read with the event, `nil` where a checkpoint is written.
    package let subject: String?

    package init(
        delegate: DelegateKey, event: LogPosition, attempts: Int, dueAt: Int64, state: State, isReplay: Bool = false,
        isNamed: Bool = false, subject: String? = nil
    ) {
        self.delegate = delegate
        self.event = event
        self.attempts = attempts
        self.dueAt = dueAt
        self.state = state
        self.isReplay = isReplay
        self.isNamed = isNamed
        self.subject = subject
    }
}

/// Which deliveries with a row of their own are meant.
package struct DeliveryQuery: Sendable {
    package var app: AppKey = .default
    package var states: Set<WaitingDelivery.State>
    package var delegate: DelegateKey?
    package var event: LogPosition?
    /// Of these events, both inclusive.
    package var events: ClosedRange<LogPosition>?
    /// Only those before this one, in the order of the list: by event and delegate, newest first.
    package var before: DeliveryKey?
    /// ≥ 1.
    package var limit: Int = 50
    package init(_ states: Set<WaitingDelivery.State>) { self.states = states }
}

/// Events that a delegate is told again, beside its lane.
package struct Replay: Equatable, Sendable {
    /// Increasing, never reused.
    package let id: Int64
    package let delegate: DelegateKey
    /// It began after this one.
    package let start: LogPosition
    /// Everything up to here is settled or has a row of its own.
    package var cursor: LogPosition
    /// The last event of it.
    package let until: LogPosition
    /// Milliseconds since 1970 UTC.
    package let createdAt: Int64

    /// - Parameter start: `nil`: it stands where it began.
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

/// Names a delivery.
package struct DeliveryKey: Hashable, Sendable {
    package let delegate: DelegateKey
    package let event: LogPosition
    package init(delegate: DelegateKey, event: LogPosition) {
        self.delegate = delegate
        self.event = event
    }
}

/// Where a lane stands while it is not at the common position.
package struct LanePosition: Equatable, Sendable {
    package let delegate: DelegateKey
    /// Everything up to here is settled: delivered, given up, waiting in a row of its own, or not wanted.
    package let cursor: LogPosition
    /// Everything after this one has not been looked at. Between the two, some are in flight and others delivered.
    package let position: LogPosition
    package init(delegate: DelegateKey, cursor: LogPosition, position: LogPosition) {
        self.delegate = delegate
        self.cursor = cursor
        self.position = position
    }
}

/// What the delivery loops have done since their last checkpoint. Its size grows with the activity, not with the number
/// of delegates.
package struct Checkpoint: Sendable {
    /// Every lane without a row of its own is settled up to here. `nil`: as before.
    package var settled: LogPosition?
    package var attempts: [AttemptRecord] = []
    /// Rows to write or to overwrite.
    package var waiting: [WaitingDelivery] = []
    /// Rows to delete: delivered in the end, or dropped.
    package var ended: [DeliveryKey] = []
    /// Rows to write or to overwrite.
    package var lanes: [LanePosition] = []
    /// Lanes whose row goes: they are at the common position.
    package var caughtUp: [DelegateKey] = []
    /// Where replays stand. One that is gone by now is passed over.
    package var replays: [(id: Int64, cursor: LogPosition)] = []
    package var endedReplays: [Int64] = []
    /// To be added to what is there.
    package var statistics: [DeliveryStatistics] = []
    /// What the delegates have come to. The writer makes `herald.…` events and changes of the registry of them, in the
    /// same transaction.
    package var notices: [DeliveryNotice] = []
    package init() {}
}
