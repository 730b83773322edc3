/// Gathers what has to be written: attempts, waiting deliveries, and the positions of the lanes that were touched.
/// One checkpoint is on its way at a time; the next one gathers meanwhile.
struct CheckpointBuilder {
    /// Where a lane stands.
    enum Place {
        /// At the common position.
        case settled
        case at(_ cursor: LogPosition, _ position: LogPosition)
    }

    /// Activity is gathered for this long, in nanoseconds: it bounds what is delivered twice after a crash.
    static let interval: Int64 = 100_000_000
    /// After a failed write.
    static let retryInterval: Int64 = 1_000_000_000
    /// Attempts gathered; past it no new ones are started until the writer has taken them.
    static let maxAttempts = 50_000
    /// Attempts that go to the writer at once, unless there are far more of them: what is published meanwhile waits for its
    /// transaction, and a thousand attempts take it several milliseconds.
    static let partSize = 256
    private static let maxParts = 64

    private var attempts: [AttemptRecord] = []
    private var waiting: [DeliveryKey: WaitingDelivery] = [:]
    private var ended: Set<DeliveryKey> = []
    private var replays: [Int64: LogPosition] = [:]
    private var endedReplays: [Int64] = []
    private var statistics: [DeliveryStatistics] = []
    private var notices: [DeliveryNotice] = []
    private var lanesChanged = false
    /// The rows that the store has.
    private var rows: [DelegateKey: LanePosition] = [:]
    private var settled: LogPosition
    private var routed: LogPosition
    private var writing: Checkpoint?
    private var failed: Checkpoint?
    /// Of what is being handed over, since the last whole checkpoint.
    private var parts = 0
    /// When the next one is to be handed over; `nil`: nothing has changed, or one is on its way.
    private(set) var due: Int64?

    init(settled: LogPosition) {
        self.settled = settled
        routed = settled
    }

    var isFull: Bool { attempts.count >= Self.maxAttempts }
    var isWriting: Bool { writing != nil }
    /// Statistics are gathered that no checkpoint has taken yet.
    var hasStatistics: Bool { !statistics.isEmpty }
    var hasChanges: Bool {
        !attempts.isEmpty || !waiting.isEmpty || !ended.isEmpty || lanesChanged || routed != settled || failed != nil
            || !replays.isEmpty || !endedReplays.isEmpty || !statistics.isEmpty || !notices.isEmpty
    }

    private mutating func changed(now: Int64) {
        if due == nil && writing == nil { due = now + Self.interval }
    }

    mutating func routed(to sequence: LogPosition, now: Int64) {
        routed = sequence
        changed(now: now)
    }

    mutating func add(_ attempt: AttemptRecord, now: Int64) {
        attempts.append(attempt)
        changed(now: now)
    }

    mutating func wait(
        _ key: DeliveryKey, attempts: Int, dueAt: Int64, isReplay: Bool, isNamed: Bool = false, now: Int64
    ) {
        waiting[key] = WaitingDelivery(
            delegate: key.delegate, event: key.event, attempts: attempts, dueAt: dueAt, state: .retrying,
            isReplay: isReplay, isNamed: isNamed)
        ended.remove(key)
        changed(now: now)
    }

    /// - Parameter state: one of those that have ended.
    mutating func giveUp(
        _ key: DeliveryKey, attempts: Int, _ state: WaitingDelivery.State, at time: Int64, isReplay: Bool, now: Int64
    ) {
        waiting[key] = WaitingDelivery(
            delegate: key.delegate, event: key.event, attempts: attempts, dueAt: time, state: state,
            isReplay: isReplay)
        ended.remove(key)
        changed(now: now)
    }

    mutating func replayed(_ id: Int64, to cursor: LogPosition, now: Int64) {
        replays[id] = cursor
        changed(now: now)
    }

    mutating func endReplay(_ id: Int64, now: Int64) {
        replays[id] = nil
        endedReplays.append(id)
        changed(now: now)
    }

    mutating func note(_ notice: DeliveryNotice, now: Int64) {
        notices.append(notice)
        changed(now: now)
    }

    mutating func add(_ statistics: [DeliveryStatistics], now: Int64) {
        self.statistics += statistics
        changed(now: now)
    }

    mutating func end(_ key: DeliveryKey, now: Int64) {
        waiting[key] = nil
        ended.insert(key)
        changed(now: now)
    }

    /// Something changed that `take` will be told of.
    mutating func touch(now: Int64) {
        lanesChanged = true
        changed(now: now)
    }

    /// The store has a row for this lane from before the start.
    mutating func hasRow(_ key: DelegateKey) {
        rows[key] = LanePosition(delegate: key, cursor: -1, position: -1)
    }

    /// The lane is gone, and with it its rows in the store.
    mutating func forget(_ key: DelegateKey) {
        rows[key] = nil
        waiting = waiting.filter { $0.key.delegate != key }
        ended = ended.filter { $0.delegate != key }
        notices.removeAll { $0.delegate == key }
    }

    /// Makes a checkpoint of the oldest attempts alone, when there are too many to be written at once. They may be on disk
    /// before the positions that they lead to: a restart looks for successes behind those. `nil`: the rest is to be taken.
    mutating func takePart() -> Checkpoint? {
        // Nothing was published since the last checkpoint: nobody waits, and one commit is cheaper than many.
        let somebodyWaits = parts > 0 || routed != settled
        guard somebodyWaits, attempts.count > Self.partSize, parts < Self.maxParts else {
            parts = 0
            return nil
        }
        parts += 1
        let count = max(Self.partSize, attempts.count / 16)
        var checkpoint = Checkpoint()
        checkpoint.attempts = Array(attempts[..<count])
        attempts.removeFirst(count)
        writing = checkpoint
        due = nil
        return checkpoint
    }

    /// Makes the checkpoint of what was gathered.
    /// - Parameters:
    ///   - settled: the position of all lanes that have no row.
    ///   - lanes: those that were touched, and where they stand.
    mutating func take(settled: LogPosition, lanes: [(DelegateKey, Place)]) -> Checkpoint {
        var checkpoint = Checkpoint()
        checkpoint.settled = settled
        checkpoint.attempts = attempts
        checkpoint.waiting = Array(waiting.values)
        checkpoint.ended = Array(ended)
        checkpoint.replays = replays.map { ($0.key, $0.value) }
        checkpoint.endedReplays = endedReplays
        checkpoint.statistics = statistics
        checkpoint.notices = notices
        for (key, place) in lanes {
            switch place {
            case .settled:
                if rows.removeValue(forKey: key) != nil { checkpoint.caughtUp.append(key) }
            case .at(let cursor, let position):
                let row = LanePosition(delegate: key, cursor: cursor, position: position)
                if rows[key] != row {
                    rows[key] = row
                    checkpoint.lanes.append(row)
                }
            }
        }
        attempts = []
        waiting = [:]
        ended = []
        replays = [:]
        endedReplays = []
        statistics = []
        notices = []
        lanesChanged = false
        self.settled = settled
        routed = settled
        writing = checkpoint
        due = nil
        return checkpoint
    }

    /// The one that the writer could not write, to be handed over again before any other.
    mutating func takeFailed() -> Checkpoint? {
        guard let checkpoint = failed else { return nil }
        failed = nil
        writing = checkpoint
        due = nil
        return checkpoint
    }

    /// The writer has answered.
    /// - Returns: up to where everything is written now, when that has moved.
    mutating func ended(succeeded: Bool, now: Int64) -> LogPosition? {
        guard let checkpoint = writing else { return nil }
        writing = nil
        if succeeded {
            if hasChanges { due = parts > 0 ? now : now + Self.interval }
            return checkpoint.settled
        }
        failed = checkpoint
        due = now + Self.retryInterval
        return nil
    }
}
