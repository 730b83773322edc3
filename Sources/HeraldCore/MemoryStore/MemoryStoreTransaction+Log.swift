/// Changes of the log.
extension MemoryTransaction {
    func event(app: AppKey, id: String) -> LoggedEvent? {
        if let copy { return copy.event(app: app, id: id) }
        return appended[.init(app: app, id: id)] ?? store.read { $0.event(app: app, id: id) }
    }

    func append(_ events: [Event]) throws(StoreError) -> LogPosition {
        let first = head + 1
        for event in events {
            guard self.event(app: event.app, id: event.id) == nil else {
                throw .failed(reason: "there is an event \(event.id) already")
            }
            head += 1
            appended[.init(app: event.app, id: event.id)] = LoggedEvent(sequence: head, event: event)
            apply { $0.append(event) }
        }
        return first
    }

    func authStatus(app: AppKey, userID: String) -> AuthStatus? {
        let name = MemoryContents.UserName(app: app, userID: userID)
        if let copy { return copy.authStatus[name] }
        return authStatus[name] ?? store.read { $0.authStatus[name] }
    }

    func setAuthStatus(_ status: AuthStatus) {
        let name = MemoryContents.UserName(app: status.app, userID: status.userID)
        authStatus[name] = status
        apply { $0.authStatus[name] = status }
    }

    func setAppState(_ state: AppState) {
        apply { $0.appStates[state.app] = state }
    }

    func answer(app: AppKey, key: String, now: Int64) -> StoredAnswer? {
        let name = MemoryContents.AnswerName(app: app, key: key)
        let found = copy.map { $0.answers[name] } ?? answers[name] ?? store.read { $0.answers[name] }
        return found.flatMap { $0.expiresAt > now ? $0.answer : nil }
    }

    func setAnswer(_ answer: StoredAnswer, app: AppKey, key: String, expiresAt: Int64) {
        let name = MemoryContents.AnswerName(app: app, key: key)
        answers[name] = (answer, expiresAt)
        apply { $0.answers[name] = (answer, expiresAt) }
    }

    func removeExpiredAnswers(now: Int64, limit: Int) {
        apply { contents in
            let expired = contents.answers.lazy.filter { $0.value.expiresAt <= now }.prefix(limit).map(\.key)
            for name in Array(expired) { contents.answers[name] = nil }
        }
    }

    func addMark(_ mark: LogMark) {
        apply { $0.marks.append(mark) }
    }

    func undelivered(through sequence: LogPosition, limit: Int, maxBytes: Int) -> EventBatch {
        preview().undelivered(through: sequence, limit: limit, maxBytes: maxBytes)
    }

    func removeEvents(through sequence: LogPosition, limit: Int) -> LogPosition {
        change { $0.removeEvents(through: sequence, limit: limit) }
    }

    /// Counted when it is asked for.
    func keepBlock(_ block: Int64, _ parts: [AppBlock]) {}

    func countBlock(_ block: Int64) -> [AppBlock] {
        if let copy { return copy.count(block: block) }
        let appended = Array(appended.values)
        return store.read { $0.count(block: block, with: appended) }
    }

    func erase(_ events: [LogPosition]) -> Erasure {
        change { $0.erase(Set(events)) }
    }

    func eraseSubject(_ subject: String, app: AppKey) -> Erasure {
        change { $0.erase(ErasedSubject(subject), app: app) }
    }
}
