import HeraldModel

/// Collects what must be written: attempts, waiting deliveries, and the positions of changed lanes. One checkpoint is
/// written at a time; changes during the write go into the next one.
struct CheckpointBuilder {
    /// The position of a lane.
    enum Place {
        /// At the common position.
        case settled
        case at(_ cursor: LogPosition, _ position: LogPosition)
    }

    /// How long changes are collected before they are written, in nanoseconds. Bounds what is delivered twice after a
    /// crash.
    static let interval: Int64 = 100_000_000
    /// Delay after a failed write, in nanoseconds.
    static let retryInterval: Int64 = 1_000_000_000
    /// Number of attempts per partial checkpoint, unless there are far more of them. Publish requests wait for the
    /// transaction that writes them, and a thousand attempts take the writer several milliseconds.
    static let partSize = 256
    private static let maxParts = 64

    /// How long the positions of lanes are collected, in nanoseconds; 0 to write them with every checkpoint. Late is safe: what
    /// lies beyond them a start finds among attempts and rows.
    private let positionInterval: Int64
    private let maxAttempts: Int
    private let partSize: Int
    private var attempts: [AttemptRecord] = []
    private var waiting: [DeliveryKey: WaitingDelivery] = [:]
    private var ended: Set<DeliveryKey> = []
    private var replays: [Int64: (delegate: DelegateKey, cursor: LogPosition)] = [:]
    /// Changes that are written with the positions: ended replays, statistics, notices, and what was missed.
    private var others = Checkpoint()
    private var lanesChanged = false
    /// The last change that is known here.
    var known = Int64.max { didSet { hasUnknown = false } }
    /// Requests have arrived whose change is not known yet. The writer would take a checkpoint for one that does not include them, and
    /// would leave out what has become of them.
    var hasUnknown = false
    /// The rows in the store.
    private var rows: [DelegateKey: LanePosition] = [:]
    /// The shards whose lanes without a row are at the loop's position in the log.
    var shards: Shards
    private var settled: LogPosition
    private var routed: LogPosition
    private var writing: Checkpoint?
    private var failed: Checkpoint?
    /// Number of partial checkpoints since the last whole one.
    private var parts = 0
    /// When positions are due.
    private var positionsDue: Int64 = 0
    /// When the next checkpoint is due; `nil` if nothing has changed or one is being written.
    private(set) var due: Int64?

    /// - Parameters:
    ///   - shards: those that the lanes belong to.
    ///   - maxAttempts: of unwritten attempts. Above it no new attempts start until the writer has taken them.
    ///   - partSize: attempts per partial checkpoint.
    ///   - positionInterval: nanoseconds; 0 to write positions with every checkpoint.
    init(
        settled: LogPosition, shards: Shards = .all, maxAttempts: Int = LoopLimits().attempts,
        partSize: Int = CheckpointBuilder.partSize, positionInterval: Int64 = 0
    ) {
        self.shards = shards
        self.positionInterval = positionInterval
        self.maxAttempts = maxAttempts
        self.partSize = partSize
        self.settled = settled
        routed = settled
    }

    var isFull: Bool { attempts.count >= maxAttempts }
    var isWriting: Bool { writing != nil }
    var hasFailed: Bool { failed != nil }
    /// Statistics are collected that no checkpoint contains yet.
    var hasStatistics: Bool { !others.statistics.isEmpty }
    var hasChanges: Bool { hasOutcomes || hasPositions || isUrgent || failed != nil }
    /// Whether there are outcomes, which must be stored soon: after a crash, what is not stored is repeated.
    private var hasOutcomes: Bool { !attempts.isEmpty || !waiting.isEmpty || !ended.isEmpty }
    private var hasPositions: Bool { lanesChanged || routed != settled || !replays.isEmpty }
    /// Whether there are changes that are written with the positions, and cannot wait for them.
    private var isUrgent: Bool {
        !others.endedReplays.isEmpty || !others.statistics.isEmpty || !others.notices.isEmpty
            || !others.missed.isEmpty || !others.unannounced.isEmpty
    }

    /// - Parameter isPosition: nothing but positions of lanes.
    private mutating func changed(now: Int64, isPosition: Bool = false) {
        // A failed one comes first, at its time.
        guard writing == nil, failed == nil else { return }
        let time = isPosition ? max(now + Self.interval, positionsDue) : now + Self.interval
        due = min(due ?? time, time)
    }

    mutating func routed(to sequence: LogPosition, now: Int64) {
        routed = sequence
        // The position of a loop without shards is of no interest.
        if !shards.isEmpty { changed(now: now, isPosition: true) }
    }

    mutating func add(_ attempt: AttemptRecord, now: Int64) {
        attempts.append(attempt)
        changed(now: now)
    }

    /// The deliveries of a delegate whose rows are to be removed with the next checkpoint.
    func pendingEnds(of delegate: DelegateKey) -> Set<LogPosition> {
        Set(ended.lazy.filter { $0.delegate == delegate }.map(\.event))
    }

    func isPending(_ key: DeliveryKey) -> Bool { waiting[key] != nil || ended.contains(key) }

    mutating func set(_ row: WaitingDelivery, now: Int64) {
        waiting[row.key] = row
        ended.remove(row.key)
        changed(now: now)
    }

    mutating func replayed(_ id: Int64, of key: DelegateKey, to cursor: LogPosition, now: Int64) {
        replays[id] = (key, cursor)
        changed(now: now, isPosition: true)
    }

    mutating func endReplay(_ id: Int64, of key: DelegateKey, now: Int64) {
        replays[id] = nil
        others.endedReplays.append((id, key))
        changed(now: now)
    }

    /// Changes what is written with the positions: statistics, notices, and what was missed.
    mutating func change(now: Int64, _ change: (inout Checkpoint) -> Void) {
        change(&others)
        changed(now: now)
    }

    mutating func end(_ key: DeliveryKey, now: Int64) {
        waiting[key] = nil
        ended.insert(key)
        changed(now: now)
    }

    /// Records that the next checkpoint has changed lanes to write.
    mutating func touch(now: Int64) {
        lanesChanged = true
        changed(now: now, isPosition: true)
    }

    /// Records that the store has had a row for this lane since before the start.
    mutating func hasRow(_ key: DelegateKey) {
        rows[key] = LanePosition(delegate: key, cursor: -1, position: -1)
    }

    /// Forgets removed lanes, whose rows in the store are removed with them.
    mutating func forget(_ keys: Set<DelegateKey>) {
        for key in keys {
            rows[key] = nil
            others.unannounced[key] = nil
        }
        waiting = waiting.filter { !keys.contains($0.key.delegate) }
        ended = ended.filter { !keys.contains($0.delegate) }
        others.notices.removeAll { keys.contains($0.delegate) }
    }

    /// Forgets what was collected of these shards, which others may have. What is being written already the writer leaves out.
    mutating func lose(_ gone: Shards) {
        shards.subtract(gone)
        replays = replays.filter { !gone.contains($0.value.delegate) }
        others.endedReplays.removeAll { gone.contains($0.delegate) }
        writing = writing?.without(gone)
        failed = failed?.without(gone)
    }

    /// Makes a partial checkpoint of the oldest attempts, and of the rows of their deliveries, if there are too many to write at
    /// once. They may be on disk before the positions of their lanes: a restart searches for outcomes beyond them.
    /// - Returns: `nil` if the checkpoint must be whole (`take`).
    mutating func takePart() -> Checkpoint? {
        // If nothing was published since the last checkpoint, no publisher waits for the writer, and one commit is
        // cheaper than several. A delivery that is exhausted is written with its notice.
        let somebodyWaits = parts > 0 || routed != settled
        guard somebodyWaits, others.notices.isEmpty, attempts.count > partSize, parts < Self.maxParts else {
            parts = 0
            return nil
        }
        parts += 1
        let count = max(partSize, attempts.count / 16)
        var checkpoint = Checkpoint()
        checkpoint.known = known
        checkpoint.attempts = Array(attempts[..<count])
        attempts.removeFirst(count)
        takeRows(&checkpoint)
        return begin(checkpoint)
    }

    /// Takes the rows of deliveries with an attempt in a part. Without them, a restart would send an event again after later
    /// ones that were delivered, whatever the order of the delegate.
    private mutating func takeRows(_ part: inout Checkpoint) {
        if waiting.isEmpty && ended.isEmpty { return }
        func key(_ attempt: AttemptRecord) -> DeliveryKey {
            DeliveryKey(delegate: attempt.delegate, event: attempt.event)
        }
        var keys: Set<DeliveryKey> = []
        for attempt in part.attempts where isPending(key(attempt)) { keys.insert(key(attempt)) }
        if keys.isEmpty { return }
        // A row says what its last attempt has changed. A row that ends before its success is written leaves no trace of it.
        for attempt in attempts { keys.remove(key(attempt)) }
        for key in keys {
            if let row = waiting.removeValue(forKey: key) { part.waiting.append(row) }
            if ended.remove(key) != nil { part.ended.append(key) }
        }
    }

    /// Makes a checkpoint without positions, if they are not due. `nil` if the checkpoint must be whole (`take`).
    mutating func takeOutcomes(now: Int64) -> Checkpoint? {
        guard hasOutcomes, !isUrgent, now < positionsDue else { return nil }
        var checkpoint = Checkpoint()
        takeOutcomes(&checkpoint)
        return begin(checkpoint)
    }

    private mutating func takeOutcomes(_ checkpoint: inout Checkpoint) {
        checkpoint.known = known
        checkpoint.attempts = attempts
        checkpoint.waiting = Array(waiting.values)
        checkpoint.ended = Array(ended)
        attempts = []
        waiting = [:]
        ended = []
    }

    /// Makes the checkpoint of everything that was collected.
    /// - Parameters:
    ///   - settled: the position of all lanes that have no row.
    ///   - given: only of these shards, which are given away; `nil` for `shards`.
    ///   - lanes: the changed lanes with their positions.
    mutating func take(
        settled: LogPosition, of given: Shards? = nil, lanes: [(DelegateKey, Place)], now: Int64
    ) -> Checkpoint {
        var checkpoint = others
        others = Checkpoint()
        checkpoint.settled = settled
        checkpoint.shards = given ?? shards
        positionsDue = now + positionInterval
        takeOutcomes(&checkpoint)
        checkpoint.replays = replays.map { ($0.key, $0.value.delegate, $0.value.cursor) }
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
        replays = [:]
        lanesChanged = false
        if given == nil {
            self.settled = settled
            routed = settled
        }
        return begin(checkpoint)
    }

    private mutating func begin(_ checkpoint: Checkpoint) -> Checkpoint {
        writing = checkpoint
        due = nil
        return checkpoint
    }

    /// Returns the checkpoint whose write failed. It must be written before any other.
    mutating func takeFailed() -> Checkpoint? {
        guard let checkpoint = failed else { return nil }
        failed = nil
        return begin(checkpoint)
    }

    /// Called when a write has ended.
    /// - Returns: the checkpoint, if it is written.
    mutating func ended(succeeded: Bool, now: Int64) -> Checkpoint? {
        guard let checkpoint = writing else { return nil }
        writing = nil
        if succeeded {
            if parts > 0, hasChanges { due = now }
            if hasOutcomes || isUrgent { changed(now: now) }
            if hasPositions { changed(now: now, isPosition: true) }
            return checkpoint
        }
        failed = checkpoint
        due = now + Self.retryInterval
        return nil
    }
}
