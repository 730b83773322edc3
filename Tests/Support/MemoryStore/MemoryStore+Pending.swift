import HeraldModel

/// Scheduled events.
extension MemoryContents {
    mutating func addPending(_ event: Event, dueAt: Int64) {
        lastPending += 1
        pending[lastPending] = PendingEvent(key: lastPending, event: event, dueAt: dueAt)
        pendingKeys[NameInApp(app: event.app, name: event.id)] = lastPending
    }

    mutating func removePending(_ key: Int64) {
        guard let found = pending.removeValue(forKey: key) else { return }
        pendingKeys[NameInApp(app: found.event.app, name: found.event.id)] = nil
    }

    mutating func movePending(app: AppKey, id: String, to dueAt: Int64, time: Int64) {
        guard let found = pending(app: app, id: id) else { return }
        let old = found.event
        let event = Event(
            app: app, id: id, type: old.type, subject: old.subject, time: time, attributes: old.attributes,
            data: old.data)
        pending[found.key] = PendingEvent(key: found.key, event: event, dueAt: dueAt)
    }

    func pending(app: AppKey, id: String) -> PendingEvent? {
        pendingKeys[NameInApp(app: app, name: id)].flatMap { pending[$0] }
    }

    /// The earliest first.
    var schedule: [PendingEvent] { pending.values.sorted { ($0.dueAt, $0.key) < ($1.dueAt, $1.key) } }

    func isInLog(_ event: Event) -> Bool { self.event(app: event.app, id: event.id) != nil }
}

extension [PendingEvent] {
    /// At least one if there are any, and no more once they have so many bytes.
    fileprivate func prefix(_ limit: Int, maxBytes: Int) -> [PendingEvent] {
        var bytes = 0
        return prefix(limit).prefix { event in
            defer { bytes += event.event.storedBytes }
            return bytes < maxBytes
        }.map { $0 }
    }
}

extension MemoryTransaction {
    func pending(app: AppKey, id: String) -> PendingEvent? { preview().pending(app: app, id: id) }

    func addPending(_ event: Event, dueAt: Int64) throws(StoreError) {
        guard pending(app: event.app, id: event.id) == nil else {
            throw .failed(reason: "there is a scheduled event \(event.id) already")
        }
        change { $0.addPending(event, dueAt: dueAt) }
    }

    func movePending(app: AppKey, id: String, to dueAt: Int64, time: Int64) {
        change { $0.movePending(app: app, id: id, to: dueAt, time: time) }
    }

    func removePending(_ keys: [Int64]) { change { contents in for key in keys { contents.removePending(key) } } }

    func duePending(at time: Int64, limit: Int, maxBytes: Int) -> [DueEvent] {
        store.countDueSearch()
        let contents = preview()
        return contents.schedule.filter { $0.dueAt <= time }.prefix(limit, maxBytes: maxBytes)
            .map { DueEvent($0, isInLog: contents.isInLog($0.event)) }
    }

    func duePending(of app: AppKey, at time: Int64, limit: Int, maxBytes: Int) -> [DueEvent] {
        store.countDueSearch()
        let contents = preview()
        return contents.schedule.filter { $0.event.app == app && $0.dueAt <= time }.prefix(limit, maxBytes: maxBytes)
            .map { DueEvent($0, isInLog: contents.isInLog($0.event)) }
    }

    func pendingApps(after app: AppKey, limit: Int) -> [PendingApp] {
        let contents = preview()
        let apps = contents.pendingCounts.values.filter { $0.events > 0 && $0.app.rawValue > app.rawValue }
            .map(\.app).sorted { $0.rawValue < $1.rawValue }.prefix(limit)
        let times = Dictionary(contents.pending.values.map { ($0.event.app, $0.dueAt) }) { min($0, $1) }
        return apps.map { PendingApp(app: $0, dueAt: times[$0] ?? .max) }
    }

    func replacedPending(in range: ClosedRange<LogPosition>) -> Set<ReplacedEvent> {
        let contents = preview()
        let scheduled = Dictionary(grouping: contents.pending.values, by: \.event.app)
        var found: Set<ReplacedEvent> = []
        for event in range.clamped(to: 0...contents.head).compactMap({ contents.event($0) }) {
            for first in scheduled[event.app] ?? [] where event.replaces(first.event) {
                found.insert(
                    ReplacedEvent(key: first.key, app: event.app, bytes: Int64(first.event.storedBytes)))
            }
        }
        return found
    }

    func pending(about subject: String, app: AppKey, limit: Int) -> [PendingEvent] {
        Array(preview().schedule.filter { $0.event.app == app && $0.event.subject == subject }.prefix(limit))
    }

    func removePending(of app: AppKey, limit: Int) -> Int {
        change { contents in
            let found = contents.schedule.filter { $0.event.app == app }.prefix(limit)
            for event in found { contents.removePending(event.key) }
            return found.count
        }
    }

    func nextPending() -> Int64? { preview().schedule.first?.dueAt }

    func setPendingCount(_ count: PendingCount) { change { $0.pendingCounts[count.app] = count } }
}

extension MemoryReader {
    func pending(app: AppKey, id: String) -> PendingEvent? { store.read { $0.pending(app: app, id: id) } }

    func pending(_ query: PendingQuery) -> [PendingEvent] {
        store.read { contents in
            contents.schedule.filter { pending in
                pending.event.app == query.app && (query.subject == nil || pending.event.subject == query.subject)
                    && !contents.isInLog(pending.event)
                    && query.after.map { ($0.dueAt, $0.key) < (pending.dueAt, pending.key) } ?? true
            }.prefix(query.limit, maxBytes: query.maxBytes)
        }
    }

    func nextPending() -> Int64? { store.read { $0.schedule.first?.dueAt } }
}

/// Refused events from SQL.
extension MemoryTransaction {
    func addRefused(_ event: RefusedEvent) {
        change { contents in
            let old = event.submission
            let submission = Submission(
                key: (contents.refused.last?.submission.key ?? 0) + 1, app: old.app, id: old.id, type: old.type,
                subject: old.subject, time: old.time, data: old.data, deliverAt: old.deliverAt)
            contents.refused.append(
                RefusedEvent(submission, reason: event.reason, refusedAt: event.refusedAt))
        }
    }

    func trimRefused() { change { $0.trimRefused() } }

    func removeRefused(about subject: String?, app: AppKey, limit: Int) -> Int {
        change { contents in
            let found = contents.refused.lazy.map(\.submission)
                .filter { $0.app == app && (subject == nil || $0.subject == subject) }.prefix(limit).map(\.key)
            let keys = Set(found)
            contents.refused.removeAll { keys.contains($0.submission.key) }
            return keys.count
        }
    }
}

extension MemoryReader {
    func submissions(after app: AppKey, limit: Int, maxBytes: Int) -> [Submission] {
        store.read { contents in
            let ofApps = Dictionary(grouping: contents.submissions, by: \.app.rawValue)
            let keys = ofApps.keys.sorted()
            let apps = (keys.filter { $0 > app.rawValue } + keys.filter { $0 <= app.rawValue }).prefix(limit)
            let turns = (0..<limit).flatMap { turn in apps.compactMap { ofApps[$0]?.dropFirst(turn).first } }
            var bytes = 0
            return turns.prefix(limit).prefix { submission in
                defer { bytes += submission.data.count }
                return bytes < maxBytes
            }.map { $0 }
        }
    }

    func refused(_ app: AppKey, before key: Int64, limit: Int) -> [RefusedEvent] {
        store.read { contents in
            Array(
                contents.refused.reversed().filter { $0.submission.app == app && $0.submission.key < key }.prefix(limit)
            )
        }
    }
}
