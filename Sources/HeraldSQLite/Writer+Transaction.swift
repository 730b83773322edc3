import HeraldCore

/// What a transaction's body may do: each is a matter of one table, or of a few.
extension Writer: StoreTransaction {
    // MARK: The log

    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent? { try events.event(app: app, id: id) }

    func append(_ new: [Event]) throws(StoreError) -> LogPosition {
        let first = head + 1
        try events.append(new, from: first)
        head += LogPosition(new.count)
        return first
    }

    func addMark(_ mark: LogMark) throws(StoreError) { try events.add(mark) }

    // MARK: Values and answers

    func authStatus(app: AppKey, userID: String) throws(StoreError) -> AuthStatus? {
        try values.authStatus(app: app, userID: userID)
    }

    func setAuthStatus(_ status: AuthStatus) throws(StoreError) { try values.set(status) }

    func setAppState(_ state: AppState) throws(StoreError) { try values.set(state) }

    func setEventType(_ type: EventTypeRecord) throws(StoreError) { try values.set(type) }

    func removeEventType(_ type: String, app: AppKey) throws(StoreError) { try values.removeEventType(type, app: app) }

    func setKey(_ key: APIKey) throws(StoreError) { try access.set(key) }

    func removeKey(_ id: String) throws(StoreError) { try access.removeKey(id) }

    func setSession(_ session: Session) throws(StoreError) { try sessions.set(session) }

    func removeSession(_ digest: [UInt8]) throws(StoreError) { try sessions.remove(digest) }

    func addAudit(_ entry: AuditEntry) throws(StoreError) { try audit.add(entry) }

    func setApp(_ app: App) throws(StoreError) { try access.set(app) }

    func removeApp(_ key: AppKey, at time: Int64) throws(StoreError) { try access.removeApp(key, at: time) }

    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer? {
        try answers.answer(app: app, key: key, now: now)
    }

    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) throws(StoreError) {
        try answers.set(answer, app: app, key: key, expiresAt: expiresAt)
    }

    func removeExpiredAnswers(now: Int64, limit: Int) throws(StoreError) {
        try answers.removeExpired(now: now, limit: limit)
    }

    // MARK: Delegates and deliveries

    func setDelegate(_ delegate: WebhookDelegate) throws(StoreError) { try delegates.set(delegate) }

    func removeDelegate(_ key: DelegateKey, at time: Int64) throws(StoreError) {
        try delegates.remove(key, at: time)
        attempts.forget(key)
    }

    func write(_ checkpoint: Checkpoint) throws(StoreError) {
        try attempts.add(checkpoint.attempts)
        for delivery in checkpoint.waiting { try waiting.set(delivery) }
        for delivery in checkpoint.ended { try waiting.end(delivery) }
        for lane in checkpoint.lanes { try progress.set(lane) }
        for delegate in checkpoint.caughtUp { try progress.removeLane(delegate) }
        if let settled = checkpoint.settled { try progress.setSettled(settled) }
        for replay in checkpoint.replays { try progress.moveReplay(replay.id, to: replay.cursor) }
        for replay in checkpoint.endedReplays { try progress.endReplay(replay) }
        for slot in checkpoint.statistics { try progress.add(slot) }
    }

    func redeliver(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [WaitingDelivery] {
        try waiting.redeliver(query, at: time)
    }

    func drop(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [DeliveryKey] {
        try waiting.drop(query, at: time)
    }

    func recipients(event: LogPosition) throws(StoreError) -> [DelegateKey] { try attempts.recipients(event: event) }

    func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay {
        try progress.addReplay(delegate: delegate, after: cursor, until: until, at: time)
    }

    func removeReplay(_ id: Int64, of delegate: DelegateKey) throws(StoreError) -> Bool {
        try progress.removeReplay(id, of: delegate)
    }

    func countReplays(_ delegate: DelegateKey) throws(StoreError) -> Int { try progress.countReplays(delegate) }

    // MARK: Retention and erasure

    func undelivered(through sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch {
        let first = try events.firstSequence()
        let end = min(sequence, head - 1, first - 1 + min(LogPosition(limit), head))
        guard first <= end, try progress.isBehind(end) else { return EventBatch(first: first, events: []) }
        return try events.oldest(through: end, maxBytes: maxBytes)
    }

    func removeEvents(through sequence: LogPosition, limit: Int) throws(StoreError) -> LogPosition {
        let first = try events.firstSequence()
        var end = min(sequence, head - 1, first - 1 + min(LogPosition(limit), head))
        guard first <= end else { return first }
        end = try waiting.remove(through: end, limit: limit)
        guard first <= end else { return first }
        try events.remove(through: end)
        return end + 1
    }

    func keepBlock(_ block: Int64, _ parts: [AppBlock]) throws(StoreError) { try blocks.keep(block, parts) }

    func countBlock(_ block: Int64) throws(StoreError) -> [AppBlock] { try blocks.recount(block) }

    func removeAttempts(before time: Int64, limit: Int) throws(StoreError) -> Int {
        try attempts.remove(before: time, limit: limit)
    }

    func removeStatistics(before time: Int64) throws(StoreError) { try progress.removeStatistics(before: time) }

    func erase(_ events: [LogPosition]) throws(StoreError) -> Erasure {
        var erasure = Erasure()
        for sequence in events {
            if try self.events.erase(sequence) { erasure.events += 1 }
            erasure.attempts += try attempts.wipeThose(of: sequence)
            erasure.deliveries += try waiting.removeThose(of: sequence)
        }
        mustCutLog = true
        return erasure
    }

    func eraseSubject(_ subject: String, app: AppKey) throws(StoreError) -> Erasure {
        let erased = ErasedSubject(subject)
        var erasure = Erasure()
        try values.removeAuthStatus(app: app, userID: erased.userID)
        erasure.authStatuses = connection.changes
        erasure.answers = try answers.removeThose(of: app, naming: erased)
        mustCutLog = true
        return erasure
    }
}
