import HeraldJSON
import HeraldModel
import HeraldRuntime

/// The deliveries of one lane that have their own row in the store: those that wait for time, for capacity, for a
/// probe, or for another delivery about their subject.
///
/// A value owned by its lane. It contains the queues and the latest plan for each retry; the lane decides what may start.
struct WaitingDeliveries {
    struct Row {
        var attempts: Int
        /// Number of attempts that used up no step of the retry schedule.
        fileprivate(set) var uncounted = 0
        /// Number of attempts that were rejected with a `Retry-After` and are uncounted, while the row is in memory.
        fileprivate(set) var excused = 0
        /// The next attempt must not use an open connection.
        fileprivate(set) var isFresh = false
        /// Number of plans made for the row: timers of earlier plans are ignored.
        var turn: UInt32 = 0
        /// The delivery was requested again: its callbacks are marked as replays.
        let isReplay: Bool
        /// The delivery is made even if the delegate's settings no longer select the event.
        fileprivate(set) var isNamed = false
        /// The lane itself has read the event and has not delivered it yet: strict order waits for it.
        fileprivate(set) var isFirst: Bool
        /// An attempt is open.
        fileprivate(set) var isOpen = false
        /// The receiver refuses the event's type: retries of other types come first.
        fileprivate(set) var isRefused = false
        let subject: String?
        /// When the next attempt is due as its row in the store says, in milliseconds since 1970 UTC.
        fileprivate(set) var dueAt: Int64 = 0
        /// It is queued behind another delivery about its subject.
        var isQueued = false
    }

    let delegate: DelegateKey
    private(set) var ordering: WebhookSettings.Ordering
    /// The ordering has changed: nothing starts until the open attempts have ended.
    private(set) var isReordering = false
    private var turns: UInt32 = 0
    let limit: Int
    var rows: [LogPosition: Row] = [:]
    /// Retries that are due and have not started yet.
    private var due = FIFO<Retry>()
    /// Retries of event types that the receiver refuses.
    private var refused = FIFO<Retry>()
    var lines = SubjectQueues()
    /// The rows that are only in the store; `nil` if all rows are in memory.
    @OnDemand var stored: StoredRows?

    /// - Parameter limit: the maximum number of rows in memory. From a half on, rows are left in the store; see
    ///   `StoredRows`. At the limit the lane takes no new event until a checkpoint is written.
    init(_ delegate: WebhookDelegate, limit: Int) {
        self.limit = limit
        self.delegate = delegate.key
        ordering = delegate.settings.ordering
    }

    var isFull: Bool { rows.count >= limit || lines.count >= Self.maxSubjects }
    /// Rows are to be left in the store, or to be loaded from it.
    var isCrowded: Bool { rows.count > limit / 2 || stored != nil }
    /// Whether nothing is only in the store.
    var hasAll: Bool { _stored.isUnchanged }
    /// The subject with the longest queue.
    var blockedSubject: String? { lines.longest }
    /// Number of deliveries that wait, in memory and only in the store. Approximate while there are some in the store.
    var count: Int { rows.count + (stored?.count ?? 0) }

    /// The maximum number of subjects that wait for a delivery. They need little memory each.
    static let maxSubjects = 50_000
    var dueCount: Int { due.count + refused.count }
    /// Number of due retries of event types that the receiver is not known to refuse.
    var promisingCount: Int { due.count }

    // MARK: Retries

    /// Queues a due retry, which starts as soon as the limits allow it.
    mutating func hold(_ retry: Retry) {
        if isCurrent(retry) { enqueue(retry) }
    }

    /// Queues a due retry before all others.
    mutating func holdFirst(_ retry: Retry) {
        if isCurrent(retry) { due.prepend(retry) }
    }

    /// Holds a delivery with its current plan.
    mutating func hold(_ event: LogPosition) {
        if let retry = retry(event) { enqueue(retry) }
    }

    private mutating func enqueue(_ retry: Retry) {
        if rows[retry.event]?.isRefused == true { refused.append(retry) } else { due.append(retry) }
        // Requests plan rows again and again, also those of a lane that starts nothing.
        guard dueCount > 2 * rows.count + 1_024 else { return }
        let present = rows
        func isOutdated(_ retry: Retry) -> Bool {
            present[retry.event].map { $0.turn != retry.turn || $0.isOpen } ?? true
        }
        due.removeAll(where: isOutdated)
        refused.removeAll(where: isOutdated)
    }

    /// The next retry to start, of the event types that the receiver is not known to refuse.
    mutating func firstDue() -> Retry? {
        while let retry = due.first, !isCurrent(retry) { due.removeFirst() }
        return due.first
    }

    /// The next retry of an event type that the receiver refuses.
    mutating func firstRefused() -> Retry? {
        while let retry = refused.first, !isCurrent(retry) { refused.removeFirst() }
        return refused.first
    }

    /// Records that one of the next retries starts.
    mutating func started(_ event: LogPosition) {
        rows[event]?.isOpen = true
        if due.first?.event == event { due.removeFirst() } else if !refused.isEmpty { refused.removeFirst() }
    }

    mutating func ended(_ event: LogPosition) { rows[event]?.isOpen = false }

    /// Invalidates the current plan of a row.
    /// - Returns: the new turn; `nil` if there is no row.
    mutating func replan(_ event: LogPosition) -> UInt32? {
        guard rows[event] != nil else { return nil }
        // No turn is used again, even if the row leaves memory in between.
        turns &+= 1
        rows[event]?.turn = turns
        return turns
    }

    func retry(_ event: LogPosition) -> Retry? {
        rows[event].map { Retry(delegate: delegate, event: event, turn: $0.turn) }
    }

    private func isCurrent(_ retry: Retry) -> Bool {
        guard let row = rows[retry.event] else { return false }
        return row.turn == retry.turn && !row.isOpen
    }

    /// Puts a due retry behind those of other event types, because the receiver refuses its own.
    mutating func putBack(_ event: LogPosition) {
        guard let retry = retry(event) else { return }
        rows[event]?.isRefused = true
        if due.first?.event == event {
            due.removeFirst()
            refused.append(retry)
        }
    }

    // MARK: Rows

    /// Records what the row in the store says.
    mutating func written(_ event: LogPosition, dueAt time: Int64) { rows[event]?.dueAt = time }

    /// Adds a row from before a restart, or one made on request.
    /// - Parameter isOpen: whether a retry is open whose row was dropped.
    /// - Returns: the plan for its next attempt; `nil` if it is queued behind another one about its subject, is under way, or
    ///   is loaded with its queue.
    mutating func take(_ delivery: WaitingDelivery, isOpen: Bool = false) -> Retry? {
        let event = delivery.event
        let known = rows[event]
        let isOpen = known?.isOpen ?? isOpen
        if known == nil, !isOpen, isInStoredQueue(delivery) { return nil }
        let blocked = stored?.currents.removeValue(forKey: event)
        rows[event] = Row(
            attempts: delivery.attempts, uncounted: delivery.uncounted, turn: known?.turn ?? 0,
            isReplay: delivery.isReplay, isNamed: delivery.isNamed,
            isFirst: known?.isFirst ?? false || !delivery.isReplay || delivery.isFirst, isOpen: isOpen,
            subject: delivery.subject ?? known?.subject ?? blocked, dueAt: delivery.dueAt,
            isQueued: known?.isQueued ?? false)
        stored?.unread.remove(event)
        if isOpen || known?.isQueued == true { return nil }
        if ordering == .subject, !isReordering, known == nil, blocked == nil, let subject = delivery.subject {
            guard enter(subject, event) else { return nil }
        }
        _ = replan(event)
        return retry(event)
    }

    /// Called when the lane reads an event. A replay may have given it a row before.
    /// - Returns: whether it has a row.
    mutating func adopt(_ event: LogPosition) -> Bool {
        // A start may have left the row in the store: the event would be delivered twice, or would wait for itself.
        guard rows[event] != nil else { return isFoundInStore(event) }
        rows[event]?.isFirst = true
        return true
    }

    /// Gives a row to a delivery that could not be made. An existing row keeps its plan.
    mutating func keep(
        _ event: LogPosition, attempts: Int, uncounted: Int = 0, excused: Int? = nil, isFresh: Bool = false,
        isFirst: Bool, isRefused: Bool = false, subject: String?
    ) {
        if rows[event] == nil {
            rows[event] = Row(attempts: attempts, isReplay: !isFirst, isFirst: isFirst, subject: subject)
        } else {
            rows[event]?.attempts = attempts
        }
        rows[event]?.uncounted = uncounted
        rows[event]?.isFresh = isFresh
        if let excused { rows[event]?.excused = excused }
        rows[event]?.isRefused = isRefused
    }

    /// Removes the row of a delivery that has ended. The lane releases its subject.
    mutating func remove(_ event: LogPosition) {
        rows[event] = nil
        stored?.removed.insert(event)
    }

    /// Ends a delivery on request.
    /// - Returns: its row, if it had one.
    mutating func drop(_ event: LogPosition) -> Row? {
        stored?.removed.insert(event)
        stored?.unread.remove(event)
        guard let row = rows.removeValue(forKey: event) else {
            stored?.count -= 1
            if let subject = stored?.currents.removeValue(forKey: event) { release(subject) }
            return nil
        }
        if !row.isOpen, let subject = row.subject, ordering == .subject, !lines.remove(event, subject) {
            release(subject)
        }
        return row
    }

    /// - Returns: the removed rows in the order of their events.
    mutating func removeAll() -> [(LogPosition, Row)] {
        let removed = rows.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        rows = [:]
        due.removeAll()
        refused.removeAll()
        lines = SubjectQueues()
        stored?.forgetSubjects()
        return removed
    }

    // MARK: Order

    /// Makes a delivery wait if another one about its subject is unfinished.
    /// - Returns: whether the delivery was given a row and queued; otherwise it may start.
    mutating func mustWait(_ event: LogPosition, _ subject: String?, isReplay: Bool) -> Bool {
        guard ordering == .subject, let subject else { return false }
        if lines.enter(subject, event, isLast: isReplay) { return false }
        rows[event] = Row(attempts: 0, isReplay: isReplay, isFirst: !isReplay, subject: subject, isQueued: true)
        return true
    }

    /// - Returns: whether the delivery, which has a row, is the current one about its subject. Otherwise it is queued.
    mutating func enter(_ subject: String, _ event: LogPosition) -> Bool {
        let isCurrent = lines.enter(subject, event)
        rows[event]?.isQueued = !isCurrent
        return isCurrent
    }

    /// Lets the next delivery about a subject start.
    mutating func release(_ subject: String?) {
        guard ordering == .subject, let subject else { return }
        while true {
            switch lines.leave(subject) {
            case .nothing: return
            case .stored:
                stored?.wanted.insert(ExactText(subject))
                return
            case .delivery(let next):
                guard let retry = retry(next) else { continue }
                rows[next]?.isQueued = false
                return enqueue(retry)
            }
        }
    }

    /// Whether a failed delivery continues with a row that was made during the attempt. In the queue of its subject it
    /// is first again.
    mutating func goesOn(_ event: LogPosition, isFirst: Bool, subject: String?) -> Bool {
        guard rows[event] != nil else { return false }
        if isFirst { rows[event]?.isFirst = true }
        if let subject, lines.remove(event, subject) {
            rows[event]?.isQueued = false
            hold(event)
        }
        return true
    }

    /// Called when the delegate's ordering has changed. Queued deliveries may start, or the others are queued once no
    /// attempt is open: attempts started without an order would violate the new one.
    mutating func reorder(_ new: WebhookSettings.Ordering) {
        if ordering == .subject {
            for event in lines.standing {
                rows[event]?.isQueued = false
                hold(event)
            }
            lines = SubjectQueues()
            // What was queued in the store has no place in the order of due times that was loaded.
            stored?.forgetSubjects()
        }
        ordering = new
        isReordering = true
    }

    /// Called when a reordering lane has no open attempt left.
    mutating func becameIdle() {
        isReordering = false
        guard ordering == .subject else { return }
        for event in rows.keys.sorted() {
            if let subject = rows[event]?.subject, !enter(subject, event) { _ = replan(event) }
        }
    }
}

/// A retry of a delivery that has its own row.
struct Retry: Equatable, Sendable {
    let delegate: DelegateKey
    let event: LogPosition
    /// The turn of the row when this retry was planned. If the row has another turn, the retry is outdated.
    let turn: UInt32
}
