import HeraldRuntime

/// Deliveries that have a row of their own.
extension Lane {
    /// Takes up a row: from before a restart, or one that was made by request.
    /// - Returns: the plan for its next attempt; `nil`: it stands behind another one of its subject, or is under way.
    mutating func take(_ delivery: WaitingDelivery) -> Retry? {
        let known = waiting[delivery.event]
        let isFirst = known?.isFirst ?? false || !delivery.isReplay
        waiting[delivery.event] = Waiting(
            attempts: delivery.attempts, turn: known?.turn ?? 0, isReplay: delivery.isReplay,
            isNamed: delivery.isNamed, isFirst: isFirst, isOpen: known?.isOpen ?? false, subject: delivery.subject)
        if known?.isOpen == true { return nil }
        if ordering == .subject, !isReordering, let subject = delivery.subject {
            if known == nil {
                guard lines.enter(subject, delivery.event) else { return nil }
            } else if lines.contains(delivery.event, subject) {
                return nil
            }
        }
        _ = replan(delivery.event)
        return row(delivery.event)
    }

    /// The lane comes by an event that has a row already: a replay was faster.
    /// - Returns: whether it has one.
    mutating func adopt(_ sequence: LogPosition) -> Bool {
        guard waiting[sequence] != nil else { return false }
        waiting[sequence]?.isFirst = true
        position = max(position, sequence)
        return true
    }

    /// A retry is due; it starts as soon as it may.
    mutating func hold(_ retry: Retry) {
        if isCurrent(retry) { held.append(retry) }
    }

    /// An event about a subject whose turn it is not.
    /// - Returns: whether the delivery got a row and stands in line; else it may start.
    mutating func mustWait(_ event: Event, _ sequence: LogPosition, isReplay: Bool) -> Bool {
        guard ordering == .subject, let subject = event.subject else { return false }
        if lines.enter(subject, sequence) { return false }
        waiting[sequence] = Waiting(attempts: 0, isReplay: isReplay, isFirst: !isReplay, subject: subject)
        if !isReplay { position = max(position, sequence) }
        return true
    }

    /// Ends a delivery by request.
    /// - Returns: whether there was one.
    mutating func drop(_ sequence: LogPosition) -> Bool {
        guard let row = waiting.removeValue(forKey: sequence) else { return false }
        if !row.isOpen, let subject = row.subject, ordering == .subject, !lines.remove(sequence, subject) {
            release(subject)
        }
        return true
    }

    /// The next delivery about a subject may go.
    mutating func release(_ subject: String?) {
        guard ordering == .subject, let subject else { return }
        while let next = lines.leave(subject) {
            guard let retry = row(next) else { continue }
            held.append(retry)
            return
        }
    }

    func isCurrent(_ retry: Retry) -> Bool {
        guard let row = waiting[retry.event] else { return false }
        return row.turn == retry.turn && !row.isOpen
    }

    mutating func dropOutdatedRetries() {
        while let retry = held.first, !isCurrent(retry) { held.removeFirst() }
    }

    /// What was planned for a row no longer holds.
    /// - Returns: its new turn; `nil`: it has no row.
    mutating func replan(_ sequence: LogPosition) -> UInt32? {
        waiting[sequence]?.turn &+= 1
        return waiting[sequence]?.turn
    }

    func row(_ sequence: LogPosition) -> Retry? {
        waiting[sequence].map { Retry(delegate: delegate.key, event: sequence, turn: $0.turn) }
    }

    /// The delegate's ordering has changed: who stands in line may go, or the others get in line once nothing is open. What
    /// was started without an order would break it.
    mutating func reorder(was old: WebhookSettings.Ordering) {
        if old == .subject {
            for sequence in lines.standing { if let retry = row(sequence) { held.append(retry) } }
            lines = SubjectQueues()
        }
        isReordering = true
        reorderWhenIdle()
    }

    mutating func reorderWhenIdle() {
        guard isReordering, open == 0 else { return }
        isReordering = false
        guard ordering == .subject else { return }
        for sequence in waiting.keys.sorted() {
            if let subject = waiting[sequence]?.subject, !lines.enter(subject, sequence) { _ = replan(sequence) }
        }
    }
}
