import HeraldModel

/// The position of this process in the list of changes of a shared store. It applies its own changes at once; what others
/// have changed it reads again. The writer's thread.
struct ChangeFollower {
    /// The number of the last set that memory includes.
    var known: Int64

    /// The set of a transaction of this process was committed, as the next one.
    mutating func committed() { known += 1 }

    private static let page = 1_000

    /// Reads what others have changed.
    /// - Parameters:
    ///   - name: of a transaction of which it is not known whether it was committed.
    ///   - apply: carries out changes, in their order, with the rows as they are now.
    /// - Returns: whether that transaction is among them.
    /// - Throws: `.replaced` if the list does not go back far enough.
    mutating func follow(
        _ reader: any StoreReader, lookingFor name: Int64? = nil, apply: ([Change], ChangedRows) -> Void
    ) throws(StoreError) -> Bool {
        var hasFound = false
        while true {
            let sets = try reader.changes(after: known, limit: Self.page)
            guard let first = sets.first, let last = sets.last else { return hasFound }
            guard first.number == known + 1 else {
                throw .replaced(
                    path: StoreError.followed,
                    reason: "the list of changes begins at \(first.number), and \(known + 1) is needed")
            }
            let changes = sets.flatMap(\.changes)
            // What was changed several times is read once, at its last change. A delegate is read at its first change: a loop ends
            // requests for deliveries of a delegate that it does not have.
            var places: [Change: Int] = [:]
            for (place, change) in changes.enumerated() {
                if case .delegate = change, places[change] != nil { continue }
                places[change] = place
            }
            let once = changes.enumerated().filter { places[$0.element] == $0.offset }.map(\.element)
            if !once.isEmpty { apply(once, try reader.rows(of: Set(once))) }
            hasFound = hasFound || sets.contains { $0.name == name }
            known = last.number
        }
    }
}

extension LogWriter {
    /// Converts the changes of other processes to effects of a commit.
    func effects(of changes: [Change], _ rows: ChangedRows) -> [WriteEffect] {
        let delegates = Dictionary(rows.delegates.map { ($0.key, $0) }) { $1 }
        let deliveries = Dictionary(rows.deliveries.map { ($0.key, $0) }) { $1 }
        return changes.filter { !rows.unreadable.contains($0) }.compactMap { change in
            switch change {
            case .delegate(let key):
                delegates[key].map { .set($0.repaired) } ?? committed.registry.delegate(key: key).map { .remove([$0]) }
            case .key(let id):
                rows.keys.first { $0.id == id }.map { .setKey($0) }
                    ?? committed.keys.entry(id: id).map { .removeKey($0.key) }
            case .session(let digest):
                rows.sessions.first { $0.digest == digest }.map { .setSession($0) } ?? .removeSession(digest)
            case .app(let key):
                rows.apps.first { $0.key == key }.map { .setApp($0) } ?? committed.apps[key].map { .removeApp($0) }
            case .eventType(let type, let app):
                rows.eventTypes.first { $0.type == type && $0.app == app }.map { .setEventType($0) }
                    ?? .removeEventType(type, app)
            case .delivery(let key):
                if let row = deliveries[key], row.state == .retrying { .redelivered([row]) } else { .dropped([key]) }
            case .replay(let id, let delegate):
                rows.replays.first { $0.id == id }.map { .replay($0) } ?? .endReplay(id, delegate)
            // The list does not name the app: the erasures of other processes count as those of one app.
            case .erasing(let position): .erased([position], of: .unknown, isLast: false)
            case .event(let position): .erased([position], of: .unknown, isLast: true)
            case .statuses(let app): .erasedStatuses(app)
            case .block(let block): .counted(block: block, rows.blocks.filter { $0.block == block })
            case .firstEvent: rows.first.map { .trimmed(first: $0) }
            case .pending(let app):
                .pending(rows.pending.first { $0.app == app } ?? PendingCount(app: app), earliest: nil)
            }
        }
    }
}
