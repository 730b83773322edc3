import HeraldModel
import Synchronization

/// Reads the committed content of a memory store.
final class MemoryReader: StoreReader {
    let store: MemoryStore

    init(_ store: MemoryStore) { self.store = store }

    func changes(after number: Int64, limit: Int) -> [ChangeSet] {
        store.read { contents in
            Array(contents.changes.suffix(max(0, Int(contents.lastChange - number))).prefix(limit))
        }
    }

    func rows(of changes: Set<Change>) -> ChangedRows { store.read { $0.rows(of: changes) } }

    /// The memory store has only the present nodes, and those that have ended without releasing their shards.
    func nodes() -> [NodeRecord] {
        store.read { contents in
            Set(contents.leases.keys).union(contents.takers.keys).sorted().map { node in
                let shards = contents.leases[node] ?? []
                return NodeRecord(
                    node: node, name: "", version: heraldVersion, isPresent: contents.leases[node] != nil, startedAt: 0,
                    seenAt: 0, leftAt: nil, shards: shards,
                    settled: shards.isEmpty ? nil : contents.settledPositions.earliest(of: shards))
            }
        }
    }
}

extension MemoryReader {
    func events(after sequence: LogPosition, limit: Int, maxBytes: Int) throws(StoreError) -> EventBatch {
        if let error = store.pageError.withLock({ $0 }) { throw error }
        return store.read { contents in
            var bytes = 0
            var first = max(sequence + 1, contents.first)
            while contents.removed.contains(first) { first += 1 }
            var events: [Event] = []
            while events.count < limit, bytes <= maxBytes,
                let event = contents.event(first + LogPosition(events.count))
            {
                events.append(event)
                bytes += event.data.count
            }
            return EventBatch(first: events.isEmpty ? sequence + 1 : first, events: events)
        }
    }

    func events(_ query: EventQuery) -> [LoggedEvent] {
        store.read { contents in
            let (first, removed, end) = (
                contents.first, contents.removed, min(contents.head, (query.before ?? .max) - 1)
            )
            let matching = contents.events.enumerated().prefix(max(0, Int(end - first + 1))).reversed().lazy
                .map { LoggedEvent(sequence: first + LogPosition($0.offset), event: $0.element) }
                .filter { $0.sequence > query.after && query.matches($0.event) && !removed.contains($0.sequence) }
            var bytes = 0
            return Array(
                matching.prefix(query.limit).prefix { logged in
                    defer { bytes += logged.event.body.count }
                    return bytes < query.maxBytes
                })
        }
    }

    func event(app: AppKey, id: String) -> LoggedEvent? {
        store.read { $0.event(app: app, id: id) }
    }

    func authStatus(app: AppKey, userID: String) -> AuthStatus? {
        store.read { $0.authStatus[.init(app: app, name: userID)] }
    }

    func appState(_ app: AppKey) -> AppState? { store.read { $0.appStates[app] } }

    func eventTypes(_ names: [String], app: AppKey) -> [EventTypeRecord] {
        store.read { contents in names.compactMap { contents.eventTypes[.init(app: app, name: $0)] } }
    }

    func sequence(since time: Int64) -> LogPosition { store.read { $0.sequence(since: time) } }

    func lastEvent(through time: Int64) -> LogPosition { store.read { $0.lastEvent(through: time) } }

    func sequences(about subject: String, app: AppKey, after sequence: LogPosition, limit: Int) -> [LogPosition] {
        store.read { contents in
            let (first, removed) = (contents.first, contents.removed)
            let found = contents.events.enumerated().lazy
                .filter { $0.element.app == app && $0.element.subject == subject }
                .map { first + LogPosition($0.offset) }
                .filter { $0 > sequence && !removed.contains($0) }
            return Array(found.prefix(limit))
        }
    }

    func lastEvent() -> LogPosition { store.read { $0.head } }

    func ends(isFresh: Bool) -> StoreEnds { store.read { StoreEnds(event: $0.head, change: $0.lastChange) } }

    func lastEvent(before time: Int64) -> LogPosition { store.read { $0.lastEvent(before: time) } }

    /// Not on disk: the size of the events' bodies in memory, and 100 bytes for each attempt.
    func sizes() -> StorageSizes {
        store.read { contents in
            var sizes = StorageSizes()
            sizes.attempts = Int64(contents.attempts.count * 100)
            sizes.used = sizes.attempts + contents.eventSizes.reduce(0) { $0 + Int64($1.bytes) }
            sizes.firstAttempt = contents.attempts.first?.id ?? 0
            sizes.lastAttempt = contents.attempts.last?.id ?? 0
            return sizes
        }
    }

    func eventSizes(after sequence: LogPosition, through end: LogPosition, limit: Int) -> [EventSize] {
        store.read { contents in
            Array(contents.eventSizes.filter { $0.position > sequence && $0.position <= end }.prefix(limit))
        }
    }

    func firstEvent() -> LogPosition { store.read { $0.first } }

    func removals() -> [Removal] { store.read { $0.removals } }

    func deletedDelegateID(_ key: DelegateKey) -> String? {
        store.read { $0.deletedIDs[key] }
    }

    func audit(before id: Int64, limit: Int) -> [StoredAuditEntry] {
        store.read { contents in Array(contents.audit.reversed().lazy.filter { $0.id < id }.prefix(limit)) }
    }
}

/// Reads deliveries.
extension MemoryReader {
    func attempts(_ query: AttemptQuery) -> [StoredAttempt] {
        store.read { contents in
            Array(contents.attempts.reversed().lazy.filter { query.matches($0) }.prefix(query.limit))
        }
    }

    /// A search reads everything.
    func rest(of query: AttemptQuery) -> Int64? { nil }

    func attempts(event: LogPosition, limit: Int) -> [StoredAttempt] {
        store.read { contents in Array(contents.attempts.filter { $0.record.event == event }.suffix(limit)) }
    }

    func attempts(after id: Int64, limit: Int) -> [StoredAttempt] {
        store.read { contents in Array(contents.attempts.lazy.filter { $0.id > id }.prefix(limit)) }
    }

    func lastAttempt() -> Int64 { store.read { $0.lastAttemptID } }

    func waiting(event: LogPosition) -> [WaitingDelivery] {
        store.read { contents in
            contents.waiting.values.filter { $0.event == event }.sorted { $0.delegate < $1.delegate }
                .map(contents.withSubject)
        }
    }

    func rows(_ query: StoredRowsQuery) -> [WaitingDelivery] {
        store.read { contents in
            let rows = contents.waiting.values.filter { $0.delegate == query.delegate && $0.state == .retrying }
            let found: [WaitingDelivery]
            switch query.part {
            case .due(let time, let event):
                found = rows.filter { ($0.dueAt, $0.event) > (time, event) }
                    .sorted { ($0.dueAt, $0.event) < ($1.dueAt, $1.event) }
            case .subject(let subject, let first):
                found = rows.filter { $0.event >= first && contents.event($0.event)?.subject == subject }
                    .sorted { $0.event < $1.event }
            case .events(let range): found = rows.filter { range.contains($0.event) }.sorted { $0.event < $1.event }
            }
            return found.prefix(query.limit).map(contents.withSubject)
        }
    }

    func search(_ query: DeliveryQuery) -> DeliveryPage { store.read { $0.search(query) } }

    func delivered(event: LogPosition, before delegate: DelegateKey, limit: Int) -> [StoredAttempt] {
        store.read { $0.delivered({ $0.event == event && $0.delegate < delegate }, limit: limit) }
    }

    func delivered(
        to delegate: DelegateKey, app: AppKey, in range: ClosedRange<LogPosition>, limit: Int
    ) -> [StoredAttempt] {
        store.read { contents in
            contents.delivered(
                { $0.delegate == delegate && range.contains($0.event) && contents.event($0.event)?.app == app },
                limit: limit)
        }
    }

    func countDeliveries(_ query: DeliveryQuery) -> Int {
        store.read { contents in contents.waiting.values.count { query.matches($0, contents) } }
    }

    func countDeliveries(app: AppKey, _ state: WaitingDelivery.State) -> [DeliveryCount] {
        store.read { contents in
            var query = DeliveryQuery([state])
            query.app = app
            let rows = contents.waiting.values.filter { query.matches($0, contents) }
            return Dictionary(grouping: rows, by: \.delegate).map { delegate, rows in
                DeliveryCount(
                    delegate: delegate, deliveries: rows.count, newest: rows.reduce(0) { max($0, $1.event) })
            }
        }
    }

    func replays(_ delegate: DelegateKey) -> [Replay] {
        store.read { contents in
            contents.replays.values.filter { $0.delegate == delegate }.sorted { $0.id < $1.id }
        }
    }

    func statistics(_ delegate: DelegateKey, since start: Int64) -> [DeliveryStatistics] {
        store.read { contents in
            contents.statistics.values.filter { $0.delegate == delegate && $0.start >= start }
                .sorted { $0.start < $1.start }
        }
    }

    func volumes(_ query: VolumeQuery) -> [Volume] {
        store.read { contents in
            let found = contents.volumes.values.filter { volume in
                query.slots.contains(volume.start) && query.app.map { $0 == volume.app } ?? true
                    && query.type.map { $0 == volume.type } ?? true
            }
            return Dictionary(grouping: found, by: \.start).sorted { $0.key < $1.key }.map { start, volumes in
                let sum = Volume(app: query.app ?? .default, type: query.type ?? "", start: start)
                return volumes.reduce(into: sum) { $0.add($1) }
            }
        }
    }

    func volumesByType(_ app: AppKey, in hours: ClosedRange<Int64>, limit: Int) -> [Volume] {
        store.read { contents in
            let found = contents.volumes.values.filter { $0.app == app && hours.contains($0.start) }
            let sums = Dictionary(grouping: found, by: \.type).map { type, volumes in
                volumes.reduce(into: Volume(app: app, type: type, start: hours.lowerBound)) { $0.add($1) }
            }
            return Array(
                sums.sorted { ($0.events, $0.delivered, $1.type) > ($1.events, $1.delivered, $0.type) }.prefix(limit))
        }
    }

    func progress() -> DeliveryProgress {
        store.read { contents in
            var progress = DeliveryProgress()
            progress.settled = contents.settledPositions
            progress.lanes = contents.lanes.values.sorted { $0.delegate < $1.delegate }
            progress.replays = contents.replays.values.sorted { $0.id < $1.id }
            return progress
        }
    }

    func waitingEvents(in range: ClosedRange<LogPosition>) -> [LogPosition] {
        store.read { contents in
            let waiting = contents.waiting.values.filter { $0.state == .retrying && range.contains($0.event) }
            return Set(waiting.map(\.event)).sorted()
        }
    }
}

extension AttemptQuery {
    fileprivate func matches(_ attempt: StoredAttempt) -> Bool {
        attempt.record.delegate == delegate && (event == nil || attempt.record.event == event)
            && (succeeded == nil || attempt.record.succeeded == succeeded) && attempt.id < before ?? .max
    }
}
