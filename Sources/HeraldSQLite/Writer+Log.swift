import HeraldModel
import HeraldStore

/// Appends to the log, truncates it and erases events.
extension Writer {
    func event(app: AppKey, id: String) throws(StoreError) -> LoggedEvent? { try events.event(app: app, id: id) }

    func append(_ new: [Event]) throws(StoreError) {
        try events.append(new, from: last + 1)
        last += LogPosition(new.count)
    }

    func setAuthStatus(_ status: AuthStatus) throws(StoreError) { try values.set(status) }

    func setAppState(_ state: AppState) throws(StoreError) { try values.set(state) }

    func answer(app: AppKey, key: String, now: Int64) throws(StoreError) -> StoredAnswer? {
        try answers.answer(app: app, key: key, now: now)
    }

    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) throws(StoreError) {
        try answers.set(answer, app: app, key: key, expiresAt: expiresAt)
    }

    func removed(_ range: ClosedRange<LogPosition>, first: LogPosition, kept: LogPosition) throws(StoreError) {
        if range.lowerBound > first { try gaps.insert(range) } else { try gaps.removeOld.bound(kept).run() }
    }

    func giveBack(bytes: Int64) throws(StoreError) -> Int64 {
        let page = Int64(LogFrame.pageSize)
        // 0 would be all.
        guard bytes >= page else { return 0 }
        let before = try connection.integer("PRAGMA page_count")
        // It moves the last page of the file to a free one, and cuts the file; once for each row.
        try connection.execute("PRAGMA incremental_vacuum(\(bytes / page))")
        return (before - (try connection.integer("PRAGMA page_count"))) * page
    }

    func keepBlock(_ block: Int64, _ parts: [AppBlock]) throws(StoreError) { try blocks.keep(block, parts) }

    func countBlock(_ block: Int64) throws(StoreError) -> [AppBlock] { try blocks.recount(block, head: last) }

    func erase(_ events: [LogPosition], limit: Int) throws(StoreError) -> Erasure {
        mustCutLog = true
        var erasure = Erasure()
        var (rows, done) = (limit, 0)
        while done < events.count, rows > 0 {
            let sequence = events[done]
            let attempts = try attempts.wipeThose(of: sequence, limit: rows)
            let deliveries = try change(.log(.removeWaitingOfRange), [sequence, sequence, rows, 0])
            rows -= attempts + deliveries
            erasure.attempts += attempts
            erasure.deliveries += deliveries
            let mayHaveMore = rows <= 0
            if let erased = try self.events.erase(sequence, keepingSubject: mayHaveMore) {
                if erased.hadContent { erasure.events += 1 }
                erasure.freed[AppBlock.number(of: sequence), default: 0] += erased.bytes
            }
            if mayHaveMore { break }
            rows -= 1
            done += 1
        }
        erasure.rest = Array(events.dropFirst(done))
        return erasure
    }

    func eraseSubject(
        _ subject: String, app: AppKey, after key: String, limit: Int
    ) throws(StoreError) -> Erasure {
        let erased = ErasedSubject(subject)
        var erasure = Erasure()
        erasure.authStatuses = try change(.log(.removeStatus), [app, erased.userID])
        (erasure.answers, erasure.nextAnswer) = try answers.removeThose(
            of: app, naming: erased, after: key, limit: limit)
        mustCutLog = true
        return erasure
    }
}
