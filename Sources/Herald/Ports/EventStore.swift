/// The port behind which events become durable. `MemoryStore` is its driver without a disk; the others are modules of
/// their own. One conformance suite runs against all of them.
///
/// Threads: `recover` and `transaction` belong to the writer's thread, each reader to the thread that asked for it;
/// `health` may be called from any thread.
public protocol EventStore: AnyObject, Sendable {
    /// What was there when the process started. Called once, before anything else.
    func recover() throws(StoreError) -> Recovery

    /// Runs `body` and makes all that it wrote durable before returning; a thrown error leaves nothing behind.
    /// After `StoreError.syncFailed` nobody knows what is on disk: the process has to stop.
    func transaction(_ body: (any StoreTransaction) throws(StoreError) -> Void) throws(StoreError)

    /// A connection for reading, for the calling thread alone.
    func makeReader() throws(StoreError) -> any StoreReader

    /// Whether appends can be expected to succeed: the store answers and has room. Cheap.
    func health() throws(StoreError)

    /// Ends it cleanly. The last call; readers are gone by then. The writer's thread.
    func close()
}

/// What can be read and written inside a transaction. Valid until the closure returns; the writer's thread.
public protocol StoreTransaction: AnyObject {
    /// The event with this id, when there is one already; sees what this transaction appended.
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent?
    /// Adds to the end of the log.
    /// - Precondition: `event(app:id:)` is `nil`; else `StoreError.failed`.
    func append(_ event: Event) throws(StoreError) -> Sequence

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?
    func setAuthStatus(_ status: AuthStatus) throws(StoreError)
    func setAppState(_ state: AppState) throws(StoreError)

    /// The answer given to an idempotency key that has not expired.
    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer?
    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) throws(StoreError)
    /// Forgets some of the answers that expired before `now`: at most `limit`, so that the transaction stays short.
    func removeExpiredAnswers(now: Int64, limit: Int) throws(StoreError)

    /// A new delegate, or the next version of one (same `key`). `StoreError.failed` when that was deleted, or when
    /// another delegate of the app has the URL.
    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError)
    /// Deletes the delegate with its lane and what waits for a retry. Its attempts stay, under its id, without its
    /// secrets and headers.
    func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError)

    /// Lanes and retries of a deleted delegate are passed over: a loop may not have heard yet. Its attempts are kept.
    func write(_ checkpoint: Checkpoint) throws(StoreError)
}

/// Reads what is committed. One thread; calls may wait for the disk.
public protocol StoreReader: AnyObject {
    /// The log from `sequence + 1` on, oldest first: at least one event if there is any, at most `limit`, and no more
    /// once their data exceeds `maxBytes`. All apps.
    func events(after sequence: Sequence, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch
    /// Newest first.
    func events(_ query: EventQuery) throws(StoreError) -> [LoggedEvent]
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent?

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus?

    /// A delegate's attempts, newest first.
    func attempts(_ query: AttemptQuery) throws(StoreError) -> [StoredAttempt]
    /// All attempts to tell of one event, oldest first.
    func attempts(event: Sequence) throws(StoreError) -> [StoredAttempt]
    /// What waits for a retry, or was given up, of one event.
    func waiting(event: Sequence) throws(StoreError) -> [WaitingDelivery]
    /// Where lanes stand that are not at the common position.
    func lanePositions() throws(StoreError) -> [LanePosition]
    /// Delegates that were deleted, by key: the id under which they were known.
    func deletedDelegateID(_ key: DelegateKey) throws(StoreError) -> String?
}

/// An event with its place in the log.
public struct LoggedEvent: Sendable {
    public let sequence: Sequence
    public let event: Event
    public init(sequence: Sequence, event: Event) {
        self.sequence = sequence
        self.event = event
    }
}

/// Which events of the log to list.
public struct EventQuery: Sendable {
    public var app: AppKey = .default
    public var type: EventPattern = .any
    public var subject: String?
    /// Milliseconds since 1970, both inclusive.
    public var since: Int64?
    public var until: Int64?
    /// Only events before this place: how the next page is asked for.
    public var before: Sequence?
    /// ≥ 1.
    public var limit: Int = 50
    public init() {}
}

/// Which attempts of a delegate to list.
public struct AttemptQuery: Sendable {
    public var delegate: DelegateKey
    public var event: Sequence?
    /// `true`: only successes; `false`: only failures.
    public var succeeded: Bool?
    /// Only attempts with a smaller id.
    public var before: Int64?
    public var limit: Int = 50
    public init(delegate: DelegateKey) { self.delegate = delegate }
}

/// One finished attempt, as a delivery loop reports it.
public struct AttemptRecord: Equatable, Sendable {
    public let delegate: DelegateKey
    public let event: Sequence
    /// 1 for the first.
    public let number: Int
    /// Milliseconds since 1970 UTC.
    public let startedAt: Int64
    /// Microseconds.
    public let duration: Int64
    /// The answer's status, `nil` when none came.
    public let status: Int?
    /// Why no answer came, `nil` when one did.
    public let failure: CallbackFailure?
    /// The failure in words; empty when there is nothing to add.
    public let detail: String
    public let excerpt: [UInt8]

    public init(
        delegate: DelegateKey, event: Sequence, number: Int, startedAt: Int64, duration: Int64, status: Int?,
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

    public var succeeded: Bool { status.map { (200...299).contains($0) } ?? false }
}

/// An attempt as the log has it: `id` increases in the order in which attempts were recorded.
public struct StoredAttempt: Equatable, Sendable {
    public let id: Int64
    public let record: AttemptRecord
    public init(id: Int64, record: AttemptRecord) {
        self.id = id
        self.record = record
    }
}

/// A delivery that has failed so far.
public struct WaitingDelivery: Equatable, Sendable {
    public enum State: Int, Sendable {
        /// There will be another attempt at `dueAt`.
        case retrying = 1
        /// The schedule is used up.
        case exhausted = 2
    }
    public let delegate: DelegateKey
    public let event: Sequence
    /// How many were made.
    public let attempts: Int
    /// Milliseconds since 1970 UTC; of an exhausted delivery, when it was given up.
    public let dueAt: Int64
    public let state: State

    public init(delegate: DelegateKey, event: Sequence, attempts: Int, dueAt: Int64, state: State) {
        self.delegate = delegate
        self.event = event
        self.attempts = attempts
        self.dueAt = dueAt
        self.state = state
    }
}

/// Names a delivery.
public struct DeliveryKey: Hashable, Sendable {
    public let delegate: DelegateKey
    public let event: Sequence
    public init(delegate: DelegateKey, event: Sequence) {
        self.delegate = delegate
        self.event = event
    }
}

/// Where a lane stands while it is not at the common position.
public struct LanePosition: Equatable, Sendable {
    public let delegate: DelegateKey
    /// Everything up to here is settled: delivered, given up, waiting in a row of its own, or not wanted.
    public let cursor: Sequence
    /// Everything after this one has not been looked at. Between the two, some are in flight and others delivered.
    public let position: Sequence
    public init(delegate: DelegateKey, cursor: Sequence, position: Sequence) {
        self.delegate = delegate
        self.cursor = cursor
        self.position = position
    }
}

/// What the delivery loops have done since their last checkpoint. Its size grows with the activity, not with the number
/// of delegates.
public struct Checkpoint: Sendable {
    /// Every lane without a row of its own is settled up to here. `nil`: as before.
    public var settled: Sequence?
    public var attempts: [AttemptRecord] = []
    /// Rows to write or to overwrite.
    public var waiting: [WaitingDelivery] = []
    /// Rows to delete: delivered in the end, or dropped.
    public var ended: [DeliveryKey] = []
    /// Rows to write or to overwrite.
    public var lanes: [LanePosition] = []
    /// Lanes whose row goes: they are at the common position.
    public var caughtUp: [DelegateKey] = []
    public init() {}
}

/// The answer that an idempotency key was given.
public struct StoredAnswer: Equatable, Sendable {
    /// Of the request that it answered: another request with the same key is refused.
    public let fingerprint: [UInt8]
    public let status: Int
    public let headers: [KeyValue]
    public let body: [UInt8]
    public init(fingerprint: [UInt8], status: Int, headers: [KeyValue], body: [UInt8]) {
        self.fingerprint = fingerprint
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Whether a user is logged in.
public struct AuthStatus: Equatable, Sendable {
    public let app: AppKey
    public let userID: String
    public let isLoggedIn: Bool
    /// The user as the last login told it: a JSON object. Kept after a logout; `null` when never told.
    public let user: [UInt8]
    /// When the status last changed; milliseconds since 1970 UTC.
    public let since: Int64
    /// The event that changed it.
    public let eventID: String
    public init(app: AppKey, userID: String, isLoggedIn: Bool, user: [UInt8], since: Int64, eventID: String) {
        self.app = app
        self.userID = userID
        self.isLoggedIn = isLoggedIn
        self.user = user
        self.since = since
        self.eventID = eventID
    }
}

/// The last app state that was posted.
public struct AppState: Equatable, Sendable {
    public let app: AppKey
    /// A JSON value.
    public let state: [UInt8]
    /// Milliseconds since 1970 UTC.
    public let since: Int64
    public let eventID: String
    public init(app: AppKey, state: [UInt8], since: Int64, eventID: String) {
        self.app = app
        self.state = state
        self.since = since
        self.eventID = eventID
    }
}

/// What a store held when the process started.
public struct Recovery: Sendable {
    /// The last event of the log, 0 when it is empty.
    public var head: Sequence = 0
    /// The first event that is still there; `head + 1` when none is.
    public var first: Sequence = 1
    /// The common position of all lanes without a row.
    public var settled: Sequence = 0
    /// In the order of their keys.
    public var delegates: [WebhookDelegate] = []
    /// The key for the next delegate: larger than any that was ever used.
    public var nextDelegateKey: DelegateKey = 1
    public var lanes: [LanePosition] = []
    /// Those in state `retrying`.
    public var waiting: [WaitingDelivery] = []
    /// Deliveries beyond their lane's cursor (its row's, or the common one) that need nothing more: delivered, waiting
    /// in a row, or exhausted. So that a restart skips them.
    public var decided: [DeliveryKey] = []
    public var appStates: [AppState] = []
    public init() {}
}

/// What can go wrong with a store. The texts are for operators.
public enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Another process has it open; `holder` says which.
    case inUse(path: String, holder: String)
    case notWritable(path: String, reason: String)
    /// Not a file of ours, or damaged. It was left untouched.
    case corrupt(path: String, reason: String)
    /// Written by a later version of Herald.
    case newer(path: String, found: Int, supported: Int)
    /// No room. Nothing was written; may succeed later.
    case full
    /// The device refused a read or write. Nothing was written; may succeed later.
    case inputOutput(reason: String)
    /// Flushing to the device failed: what was reported durable may not be. The process has to stop.
    case syncFailed(reason: String)
    /// Anything else, a defect of ours included.
    case failed(reason: String)

    public var description: String {
        switch self {
        case .inUse(let path, let holder):
            "\(path) is in use by \(holder). Stop that process first, or choose another folder with --data."
        case .notWritable(let path, let reason):
            "\(path) can't be written: \(reason). Check the owner and the permissions, or choose another folder with --data."
        case .corrupt(let path, let reason):
            "\(path) is not a readable Herald database: \(reason). It was left untouched; restore it from a backup."
        case .newer(let path, let found, let supported):
            "\(path) has schema version \(found), this Herald knows up to \(supported). Run the newer Herald again."
        case .full: "The disk is full."
        case .inputOutput(let reason): "The disk reported an error: \(reason)."
        case .syncFailed(let reason): "Flushing to the disk failed: \(reason)."
        case .failed(let reason): "The store failed: \(reason)."
        }
    }
}
