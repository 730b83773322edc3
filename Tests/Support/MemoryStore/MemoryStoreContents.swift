package import HeraldModel

/// The content of a memory store. A value, owned by its holder.
package struct MemoryContents {
    package struct SlotName: Hashable {
        package let delegate: DelegateKey
        package let start: Int64
    }

    /// The number of committed transactions.
    package var version = 0
    /// The newest ones.
    package var changes: [ChangeSet] = []
    package var lastChange: Int64 = 0

    /// `events[0]` has the position `first`.
    package var events: [Event] = []
    package var first: LogPosition = 1
    /// Positions after `first` that retention has removed. `events` has something else there.
    package var removed: Set<LogPosition> = []
    package var sequences: [NameInApp: LogPosition] = [:]
    package var marks: [LogMark] = []
    package var attempts: [StoredAttempt] = []
    package var volumes: [Volume.Key: Volume] = [:]
    package var lastAttemptID: Int64 = 0
    package var waiting: [DeliveryKey: WaitingDelivery] = [:]
    /// The change that has requested a row of `waiting`.
    private var requests: [DeliveryKey: Int64] = [:]
    package var lanes: [DelegateKey: LanePosition] = [:]
    package var settledPositions = SettledPositions(0)
    package var settled: LogPosition { settledPositions.earliest() }
    package var removals: [Removal] = []
    package var unannounced: [DelegateKey: Int] = [:]
    package var replays: [Int64: Replay] = [:]
    package var pullLeases: [DelegateKey: [String: PullLease]] = [:]
    package var lastReplayID: Int64 = 0
    package var statistics: [SlotName: DeliveryStatistics] = [:]
    package var delegates: [DelegateKey: WebhookDelegate] = [:]
    package var deletedIDs: [DelegateKey: String] = [:]
    package var lastDelegateKey: DelegateKey = 0
    package var authStatus: [NameInApp: AuthStatus] = [:]
    package var appStates: [AppKey: AppState] = [:]
    package var answers: [NameInApp: (answer: StoredAnswer, expiresAt: Int64)] = [:]
    package var eventTypes: [NameInApp: EventTypeRecord] = [:]
    package var keys: [String: APIKey] = [:]
    package var sessions: [[UInt8]: Session] = [:]
    package var audit: [StoredAuditEntry] = []
    package var lastAuditID: Int64 = 0
    /// By key.
    package var pending: [Int64: PendingEvent] = [:]
    package var pendingKeys: [NameInApp: Int64] = [:]
    package var lastPending: Int64 = 0
    package var submissions: [Submission] = []
    package var refused: [RefusedEvent] = []
    package var pendingCounts: [AppKey: PendingCount] = [:]
    package var apps: [AppKey: App] = [:]
    package var nextAppKey = AppKey(rawValue: AppKey.default.rawValue + 1)

    /// Processes that share the delegates, by the shards that their sessions hold.
    package var leases: [NodeKey: Shards] = [:]
    /// The nodes that are about to end.
    package var leaving: Set<NodeKey> = []
    /// The last process that has taken each shard.
    package var takers: [NodeKey: Shards] = [:]

    package let secret = ServerSecret()

    // MARK: The log

    package var head: LogPosition { first + LogPosition(events.count) - 1 }

    package func event(_ sequence: LogPosition) -> Event? {
        sequence >= first && sequence <= head && !removed.contains(sequence) ? events[Int(sequence - first)] : nil
    }

    package var eventSizes: [EventSize] {
        guard first <= head else { return [] }
        return (first...head).compactMap { position in
            event(position).map { EventSize(position, bytes: $0.storedBytes) }
        }
    }

    package func event(app: AppKey, id: String) -> LoggedEvent? {
        guard let sequence = sequences[NameInApp(app: app, name: id)], let event = event(sequence) else { return nil }
        return LoggedEvent(sequence: sequence, event: event)
    }

    /// - Parameter more: events that are not appended yet.
    package func count(block: Int64, with more: [LoggedEvent] = []) -> [AppBlock] {
        let places = AppBlock.places(block)
        let here = stride(from: max(first, places.lowerBound), through: min(head, places.upperBound), by: 1)
            .compactMap { event($0) }
        let there = more.lazy.filter { places.contains($0.sequence) }.map(\.event)
        var found: [AppKey: AppBlock] = [:]
        for event in here + Array(there) {
            found[event.app, default: AppBlock(app: event.app, block: block, events: 0, bytes: 0)].add(event)
        }
        return found.values.sorted { $0.app.rawValue < $1.app.rawValue }
    }

    package mutating func append(_ event: Event) {
        events.append(event)
        sequences[NameInApp(app: event.app, name: event.id)] = head
    }

    // MARK: Changes

    private static let maxChanges = 10_000

    package mutating func record(_ new: [Change], name: Int64) {
        lastChange += 1
        if changes.count >= 2 * Self.maxChanges { changes.removeFirst(Self.maxChanges) }
        changes.append(ChangeSet(number: lastChange, name: name, changes: new))
    }

    package func rows(of changes: Set<Change>) -> ChangedRows {
        var rows = ChangedRows()
        for change in changes {
            switch change {
            case .delegate(let key): rows.delegates += [delegates[key]].compactMap { $0 }
            case .key(let id): rows.keys += [keys[id]].compactMap { $0 }
            case .session(let digest): rows.sessions += [sessions[digest]].compactMap { $0 }
            case .app(let key): rows.apps += [apps[key]].compactMap { $0 }
            case .eventType(let type, let app):
                rows.eventTypes += [eventTypes[NameInApp(app: app, name: type)]].compactMap { $0 }
            case .delivery(let key): rows.deliveries += [waiting[key]].compactMap { $0 }.map(withSubject)
            case .replay(let id, _): rows.replays += [replays[id]].compactMap { $0 }
            case .block(let block): rows.blocks += count(block: block)
            case .firstEvent: rows.first = first
            case .pending(let app): rows.pending += [pendingCounts[app]].compactMap { $0 }.filter { $0.events > 0 }
            case .erasing, .event, .statuses: break
            }
        }
        return rows
    }

    // MARK: Checkpoints

    package mutating func write(_ checkpoint: Checkpoint) {
        for record in checkpoint.attempts {
            lastAttemptID += 1
            attempts.append(StoredAttempt(id: lastAttemptID, record: record))
        }
        for delivery in checkpoint.waiting where delegates[delivery.delegate] != nil {
            let key = DeliveryKey(delegate: delivery.delegate, event: delivery.event)
            if requests[key, default: 0] <= checkpoint.known { waiting[key] = delivery }
        }
        let delivered = checkpoint.delivered
        for key in checkpoint.ended
        where requests[key, default: 0] <= checkpoint.known
            || waiting[key]?.state == .dropped && delivered.contains(key)
        {
            waiting[key] = nil
            requests[key] = nil
        }
        for lane in checkpoint.lanes where delegates[lane.delegate] != nil { lanes[lane.delegate] = lane }
        for key in checkpoint.caughtUp { lanes[key] = nil }
        if let settled = checkpoint.settled { settledPositions.set(checkpoint.shards, to: settled) }
        for replay in checkpoint.replays { replays[replay.id]?.cursor = replay.cursor }
        for replay in checkpoint.endedReplays { replays[replay.id] = nil }
        for removal in checkpoint.missed { count(removal) }
        for (key, missed) in checkpoint.unannounced where delegates[key] != nil {
            unannounced[key] = missed > 0 ? missed : nil
        }
        for slot in checkpoint.statistics where delegates[slot.delegate] != nil {
            let name = SlotName(delegate: slot.delegate, start: slot.start)
            statistics[name, default: DeliveryStatistics(delegate: slot.delegate, start: slot.start)].add(slot)
        }
    }

    // MARK: Delegates

    package mutating func setDelegate(_ delegate: WebhookDelegate) {
        delegates[delegate.key] = delegate
        lastDelegateKey = max(lastDelegateKey, delegate.key)
    }

    package mutating func removeDelegate(_ key: DelegateKey) {
        if let delegate = delegates.removeValue(forKey: key) { deletedIDs[key] = delegate.id }
        lanes[key] = nil
        pullLeases[key] = nil
        unannounced[key] = nil
        waiting = waiting.filter { $0.key.delegate != key }
        requests = requests.filter { $0.key.delegate != key }
        replays = replays.filter { $0.value.delegate != key }
        statistics = statistics.filter { $0.key.delegate != key }
    }

    package mutating func removeWaiting(of delegate: DelegateKey, limit: Int) -> Int {
        let keys = waiting.keys.filter { $0.delegate == delegate }.sorted { $0.event < $1.event }.prefix(limit)
        for key in keys {
            waiting[key] = nil
            requests[key] = nil
        }
        return keys.count
    }

    // MARK: Apps

    package mutating func removeValues(of app: AppKey, limit: Int) -> Int {
        let statuses = authStatus.keys.filter { $0.app == app }.sorted { $0.name < $1.name }.prefix(limit)
        for key in statuses { authStatus[key] = nil }
        let responses = answers.keys.filter { $0.app == app }.sorted { $0.name < $1.name }.prefix(limit)
        for key in responses { answers[key] = nil }
        return max(statuses.count, responses.count)
    }

    package mutating func add(_ entry: AuditEntry) {
        lastAuditID += 1
        audit.append(StoredAuditEntry(id: lastAuditID, entry: entry))
    }

    package mutating func trimAudit(from id: Int64) -> Int64 {
        guard lastAuditID >= id else { return id }
        return trim(&audit, to: AuditEntry.limit) { $0.entry.app }.next(after: lastAuditID, slack: AuditEntry.slack)
    }

    package mutating func trimRefused() { _ = trim(&refused, to: RefusedEvent.limit) { $0.submission.app } }

    package mutating func set(_ app: App) {
        apps[app.key] = app
        nextAppKey = AppKey(rawValue: max(nextAppKey.rawValue, app.key.rawValue + 1))
    }

    package mutating func removeApp(_ key: AppKey) {
        apps[key] = nil
        authStatus = authStatus.filter { $0.key.app != key }
        appStates[key] = nil
        answers = answers.filter { $0.key.app != key }
    }

    // MARK: Recovery

    package func recovery() -> Recovery {
        var recovery = Recovery()
        recovery.head = head
        recovery.first = first
        recovery.delegates = delegates.values.sorted { $0.key < $1.key }
        recovery.nextDelegateKey = lastDelegateKey + 1
        recovery.appStates = appStates.values.sorted { $0.app.rawValue < $1.app.rawValue }
            .map { AppStateVersion(app: $0.app, eventID: $0.eventID) }
        recovery.eventTypes = eventTypes.values.sorted { ($0.app.rawValue, $0.type) < ($1.app.rawValue, $1.type) }
            .map { EventTypeSummary($0) }
        recovery.keys = keys.values.sorted { $0.id < $1.id }
        recovery.sessions = sessions.values.sorted { $0.expiresAt < $1.expiresAt }
        recovery.apps = apps.values.sorted { $0.key.rawValue < $1.key.rawValue }
        recovery.nextAppKey = nextAppKey
        recovery.secret = secret
        recovery.blocks =
            head < first
            ? [] : (AppBlock.number(of: first)...AppBlock.number(of: head)).flatMap { count(block: $0) }
        recovery.lastChange = lastChange
        recovery.pending = pendingCounts.values.filter { $0.events > 0 }.sorted { $0.app.rawValue < $1.app.rawValue }
        recovery.lastMark = marks.max { ($0.sequence, $0.time) < ($1.sequence, $1.time) }
        return recovery
    }

    package func laneRecovery(maxRows: Int) -> LaneRecovery {
        var recovery = LaneRecovery()
        recovery.settled = settledPositions
        recovery.lanes = lanes.values.sorted { $0.delegate < $1.delegate }
        let retrying = waiting.values.filter { $0.state == .retrying }.sorted { $0.key < $1.key }
        let rows = Dictionary(grouping: retrying) { $0.delegate }
        recovery.waiting = retrying.filter { rows[$0.delegate, default: []].count <= maxRows }.map(withSubject)
        recovery.crowded = rows.filter { $0.value.count > maxRows }.mapValues { LaneBacklog(count: $0.count) }
        // As in the other stores, a replay or a redelivery ahead of its lane does not count.
        var decided: Set<DeliveryKey> = []
        for record in attempts.lazy.map(\.record) where record.succeeded {
            let key = DeliveryKey(delegate: record.delegate, event: record.event)
            if !record.isReplay || !isAhead(key) { decided.insert(key) }
        }
        for (key, row) in waiting.sorted(by: { $0.key < $1.key }) {
            if !row.isReplay || row.isFirst || !isAhead(key) {
                decided.insert(key)
            } else if row.state != .retrying {
                recovery.givenUp.append(key)
            }
        }
        recovery.decided = decided.filter(isBeyondCursor)
            .sorted { ($0.delegate, $0.event) < ($1.delegate, $1.event) }
        recovery.unannounced = unannounced
        recovery.replays = replays.values.sorted { $0.id < $1.id }
        return recovery
    }

    /// Whether it is beyond the position of a lane with a row.
    private func isAhead(_ delivery: DeliveryKey) -> Bool {
        lanes[delivery.delegate].map { delivery.event > $0.position } ?? false
    }

    private func isBeyondCursor(_ delivery: DeliveryKey) -> Bool {
        guard delegates[delivery.delegate] != nil else { return false }
        return delivery.event > lanes[delivery.delegate]?.cursor ?? settledPositions[delivery.delegate]
    }
}

/// Deliveries with a row of their own, and replays.
extension MemoryContents {
    package func search(_ query: DeliveryQuery) -> DeliveryPage {
        var page = DeliveryPage()
        let rows = waiting.values.filter { query.matches($0, self) && query.isNext($0) }.sorted { $0.key > $1.key }
        for (number, row) in rows.enumerated() {
            let last = attempts.last { $0.record.event == row.event && $0.record.delegate == row.delegate }
            let event = event(row.event)
            let end = last.map { AttemptEnd($0.record) }
            if query.filter?.matches(type: event?.type, subject: event?.subject, last: end) != false {
                page.rows.append(withSubject(row))
            }
            if page.rows.count == query.limit || query.filter != nil && number + 1 == query.work {
                page.rest = row.key
                break
            }
        }
        return page
    }

    /// The last successes without a row, newest event first.
    package func delivered(_ isMeant: (AttemptRecord) -> Bool, limit: Int) -> [StoredAttempt] {
        var last: [DeliveryKey: StoredAttempt] = [:]
        for attempt in attempts where attempt.record.succeeded && isMeant(attempt.record) {
            let key = DeliveryKey(delegate: attempt.record.delegate, event: attempt.record.event)
            if waiting[key] == nil { last[key] = attempt }
        }
        return last.sorted { $0.key > $1.key }.prefix(limit).map(\.value)
    }

    package func withSubject(_ delivery: WaitingDelivery) -> WaitingDelivery {
        var found = WaitingDelivery(
            delegate: delivery.delegate, event: delivery.event, attempts: delivery.attempts, dueAt: delivery.dueAt,
            state: delivery.state, isReplay: delivery.isReplay, isNamed: delivery.isNamed,
            uncounted: delivery.uncounted, subject: event(delivery.event)?.subject)
        found.isAlone = delivery.isAlone
        found.isFirst = delivery.isFirst
        return found
    }

    package mutating func redeliver(_ deliveries: [WaitingDelivery]) {
        for delivery in deliveries where delegates[delivery.delegate] != nil { request(delivery) }
    }

    package mutating func drop(_ deliveries: [DeliveryKey], at time: Int64) {
        for found in deliveries.compactMap({ waiting[$0] }) {
            request(
                WaitingDelivery(
                    delegate: found.delegate, event: found.event, attempts: found.attempts, dueAt: time,
                    state: .dropped, isReplay: found.isReplay))
        }
    }

    /// Its transaction will note the next change.
    private mutating func request(_ delivery: WaitingDelivery) {
        waiting[delivery.key] = delivery
        requests[delivery.key] = lastChange + 1
    }

    package func recipients(event: LogPosition) -> [DelegateKey] {
        let attempted = attempts.lazy.filter { $0.record.event == event }.map(\.record.delegate)
        let waiting = waiting.keys.lazy.filter { $0.event == event }.map(\.delegate)
        return Set(attempted).union(waiting).sorted()
    }

    /// `nil` if the delegate does not exist.
    package mutating func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) -> Replay? {
        guard delegates[delegate] != nil else { return nil }
        lastReplayID += 1
        let replay = Replay(id: lastReplayID, delegate: delegate, cursor: cursor, until: until, createdAt: time)
        replays[replay.id] = replay
        return replay
    }
}

extension DeliveryQuery {
    /// Whether the delivery matches, on any page.
    package func matches(_ delivery: WaitingDelivery, _ contents: MemoryContents) -> Bool {
        states.contains(delivery.state) && (delegate == nil || delivery.delegate == delegate)
            && (event == nil || delivery.event == event) && events?.contains(delivery.event) != false
            && contents.delegates[delivery.delegate]?.app == app
    }

    fileprivate func isNext(_ delivery: WaitingDelivery) -> Bool {
        before.map { (delivery.event, delivery.delegate) < ($0.event, $0.delegate) } ?? true
    }
}

/// Removes the rows of a table beyond its limit.
private func trim<Row>(_ table: inout [Row], to limit: Int64, app: (Row) -> AppKey) -> TableTrim {
    let counts = Dictionary(grouping: table, by: app)
    let trim = TableTrim(
        counts.map { TableTrim.Share(app: $0.key, rows: Int64($0.value.count)) }, limit: limit)
    var lost = Dictionary(trim.shares.map { ($0.app, $0.rows) }) { $1 }
    table.removeAll { row in
        guard let rest = lost[app(row)], rest > 0 else { return false }
        lost[app(row)] = rest - 1
        return true
    }
    table.removeFirst(Int(trim.oldest))
    return trim
}
