import HeraldRuntime

/// The deliveries of one lane that have a row of their own in the store: those that wait for time, for room, for a probe,
/// or for another one about their subject.
///
/// A value that its lane owns. It knows who stands in which line, and which plan for a retry is the last; the lane knows
/// what may start.
struct WaitingDeliveries {
    struct Row {
        /// How many were made and counted.
        var attempts: Int
        /// How many in a row were rejected with a time to come again, and not counted.
        fileprivate(set) var excused = 0
        /// Counts the plans that were made for it: a timer of an earlier plan means nothing.
        fileprivate var turn: UInt32 = 0
        /// It was asked for again: its callbacks say so.
        let isReplay: Bool
        /// It is made whatever the delegate wants by now.
        fileprivate(set) var isNamed = false
        /// The lane itself has come by the event, and has not delivered it yet: strict order waits for it.
        fileprivate(set) var isFirst: Bool
        /// An attempt is under way.
        fileprivate(set) var isOpen = false
        fileprivate let subject: String?
    }

    /// A lane with so many takes no new event until one is settled, so that memory stays bounded.
    static let limit = 10_000

    private let delegate: DelegateKey
    private var ordering: WebhookSettings.Ordering
    /// The ordering has changed: nothing starts until what is open has ended.
    private(set) var isReordering = false
    private(set) var rows: [LogPosition: Row] = [:]
    /// Retries that are due but could not start yet.
    private var due = FIFO<Retry>()
    private var lines = SubjectQueues()

    init(_ delegate: WebhookDelegate) {
        self.delegate = delegate.key
        ordering = delegate.settings.ordering
    }

    var isFull: Bool { rows.count >= Self.limit }
    var dueCount: Int { due.count }

    // MARK: Retries

    /// A retry is due; it starts as soon as it may.
    mutating func hold(_ retry: Retry) {
        if isCurrent(retry) { due.append(retry) }
    }

    /// The same, for the plan that a row has now.
    mutating func hold(_ event: LogPosition) {
        if let retry = retry(event) { due.append(retry) }
    }

    /// The retry that starts next.
    mutating func firstDue() -> Retry? {
        while let retry = due.first, !isCurrent(retry) { due.removeFirst() }
        return due.first
    }

    /// An attempt of the retry that starts next begins.
    mutating func started(_ event: LogPosition) {
        rows[event]?.isOpen = true
        due.removeFirst()
    }

    mutating func ended(_ event: LogPosition) { rows[event]?.isOpen = false }

    /// What was planned for a row no longer holds.
    /// - Returns: its new turn; `nil`: it has no row.
    mutating func replan(_ event: LogPosition) -> UInt32? {
        rows[event]?.turn &+= 1
        return rows[event]?.turn
    }

    func retry(_ event: LogPosition) -> Retry? {
        rows[event].map { Retry(delegate: delegate, event: event, turn: $0.turn) }
    }

    private func isCurrent(_ retry: Retry) -> Bool {
        guard let row = rows[retry.event] else { return false }
        return row.turn == retry.turn && !row.isOpen
    }

    // MARK: Rows

    /// Takes up a row: from before a restart, or one that was made by request.
    /// - Returns: the plan for its next attempt; `nil`: it stands behind another one of its subject, or is under way.
    mutating func take(_ delivery: WaitingDelivery) -> Retry? {
        let event = delivery.event
        let known = rows[event]
        rows[event] = Row(
            attempts: delivery.attempts, turn: known?.turn ?? 0, isReplay: delivery.isReplay,
            isNamed: delivery.isNamed, isFirst: known?.isFirst ?? false || !delivery.isReplay,
            isOpen: known?.isOpen ?? false, subject: delivery.subject)
        if known?.isOpen == true { return nil }
        if ordering == .subject, !isReordering, let subject = delivery.subject {
            if known == nil {
                guard lines.enter(subject, event) else { return nil }
            } else if lines.contains(event, subject) {
                return nil
            }
        }
        _ = replan(event)
        return retry(event)
    }

    /// The lane comes by an event that has a row already: a replay was faster.
    /// - Returns: whether it has one.
    mutating func adopt(_ event: LogPosition) -> Bool {
        guard rows[event] != nil else { return false }
        rows[event]?.isFirst = true
        return true
    }

    /// A delivery gets a row: it could not be made. One that it has keeps its plan.
    mutating func keep(_ event: LogPosition, attempts: Int, excused: Int? = nil, isFirst: Bool, subject: String?) {
        if rows[event] == nil {
            rows[event] = Row(attempts: attempts, isReplay: !isFirst, isFirst: isFirst, subject: subject)
        } else {
            rows[event]?.attempts = attempts
        }
        if let excused { rows[event]?.excused = excused }
    }

    /// A delivery has ended. The lane releases its subject.
    mutating func remove(_ event: LogPosition) { rows[event] = nil }

    /// Ends a delivery by request.
    /// - Returns: the row that it had, if any.
    mutating func drop(_ event: LogPosition) -> Row? {
        guard let row = rows.removeValue(forKey: event) else { return nil }
        if !row.isOpen, let subject = row.subject, ordering == .subject, !lines.remove(event, subject) {
            release(subject)
        }
        return row
    }

    /// - Returns: those that were there, in the order of their events.
    mutating func removeAll() -> [(LogPosition, Row)] {
        let removed = rows.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        rows = [:]
        due.removeAll()
        lines = SubjectQueues()
        return removed
    }

    // MARK: Order

    /// An event about a subject whose turn it is not.
    /// - Returns: whether the delivery got a row and stands in line; else it may start.
    mutating func mustWait(_ event: LogPosition, _ subject: String?, isReplay: Bool) -> Bool {
        guard ordering == .subject, let subject else { return false }
        if lines.enter(subject, event) { return false }
        rows[event] = Row(attempts: 0, isReplay: isReplay, isFirst: !isReplay, subject: subject)
        return true
    }

    /// The next delivery about a subject may go.
    mutating func release(_ subject: String?) {
        guard ordering == .subject, let subject else { return }
        while let next = lines.leave(subject) {
            guard let retry = retry(next) else { continue }
            due.append(retry)
            return
        }
    }

    /// Whether a failed delivery goes on by a row that was made while it was under way. In a line of its subject it is the
    /// first again.
    mutating func goesOn(_ event: LogPosition, isFirst: Bool, subject: String?) -> Bool {
        guard rows[event] != nil else { return false }
        if isFirst { rows[event]?.isFirst = true }
        if let subject, lines.remove(event, subject) { hold(event) }
        return true
    }

    /// The delegate's ordering has changed: who stands in line may go, or the others get in line once nothing is open. What
    /// was started without an order would break it.
    mutating func reorder(_ new: WebhookSettings.Ordering) {
        if ordering == .subject {
            for event in lines.standing { hold(event) }
            lines = SubjectQueues()
        }
        ordering = new
        isReordering = true
    }

    /// Nothing of a lane that is reordering is open any more.
    mutating func becameIdle() {
        isReordering = false
        guard ordering == .subject else { return }
        for event in rows.keys.sorted() {
            if let subject = rows[event]?.subject, !lines.enter(subject, event) { _ = replan(event) }
        }
    }
}

/// A delivery with a row of its own whose next attempt is due.
struct Retry: Equatable, Sendable {
    let delegate: DelegateKey
    let event: LogPosition
    /// Of the row when this was made: another one there means that this is outdated.
    let turn: UInt32
}
