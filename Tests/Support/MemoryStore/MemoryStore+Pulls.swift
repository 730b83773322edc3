import HeraldModel

/// Pull delegates.
extension MemoryContents {
    func leases(of delegate: DelegateKey, endedBy time: Int64, limit: Int) -> [PullLease] {
        let ended = pullLeases[delegate, default: [:]].values.filter { $0.expiresAt <= time }
        return Array(ended.sorted { ($0.expiresAt, $0.id) < ($1.expiresAt, $1.id) }.prefix(limit))
    }

    func pullState(of delegate: DelegateKey, lease id: String?) -> PullState? {
        guard let lane = lanes[delegate] else { return nil }
        let leases = pullLeases[delegate, default: [:]]
        var others = LeaseTotals()
        for lease in leases.values where lease.id != id { others.add(lease) }
        return PullState(lane: lane, lease: id.flatMap { leases[$0] }, others: others)
    }
}

extension MemoryTransaction {
    func lane(of delegate: DelegateKey) -> LanePosition? { preview().lanes[delegate] }

    func pullState(of delegate: DelegateKey, lease id: String?) -> PullState? {
        preview().pullState(of: delegate, lease: id)
    }

    func unannounced(of delegate: DelegateKey) -> Int { preview().unannounced[delegate] ?? 0 }

    func leases(of delegate: DelegateKey, endedBy time: Int64, limit: Int) -> [PullLease] {
        preview().leases(of: delegate, endedBy: time, limit: limit)
    }

    func leases(of delegate: DelegateKey, through last: LogPosition, limit: Int) -> [PullLease] {
        let all = preview().pullLeases[delegate, default: [:]].values.compactMap { lease in
            lease.entries.first { !$0.hasRow }.map { (first: $0.event, lease: lease) }
        }
        return all.filter { $0.first <= last }.sorted { ($0.first, $0.lease.id) < ($1.first, $1.lease.id) }
            .prefix(limit).map(\.lease)
    }

    func forget(_ delegate: DelegateKey, after position: LogPosition, at time: Int64) {
        change { contents in
            contents.pullLeases[delegate] = nil
            contents.waiting = contents.waiting.filter { $0.key.delegate != delegate || $0.key.event <= position }
            for (key, row) in contents.waiting where key.delegate == delegate && row.state == .retrying {
                contents.waiting[key] = WaitingDelivery(
                    delegate: delegate, event: key.event, attempts: row.attempts, dueAt: time, state: .dropped,
                    isReplay: row.isReplay, isNamed: row.isNamed, uncounted: row.uncounted)
            }
        }
    }

    func set(_ lease: PullLease) {
        change { contents in
            guard contents.delegates[lease.delegate] != nil else { return }
            contents.pullLeases[lease.delegate, default: [:]][lease.id] = lease
        }
    }

    func set(_ lease: PullLease, replacing id: String) {
        removeLease(id, of: lease.delegate)
        set(lease)
    }

    func removeLease(_ id: String, of delegate: DelegateKey) { change { $0.pullLeases[delegate]?[id] = nil } }

    func retrying(_ delegate: DelegateKey, in events: ClosedRange<LogPosition>, limit: Int) -> [WaitingDelivery] {
        let rows = preview().waiting.values.filter {
            $0.delegate == delegate && $0.state == .retrying && events.contains($0.event)
        }
        return Array(rows.sorted { $0.event < $1.event }.prefix(limit))
    }

    func waiting(_ delegate: DelegateKey, _ events: [LogPosition]) -> [WaitingDelivery] {
        let contents = preview()
        let rows = Set(events).compactMap { contents.waiting[DeliveryKey(delegate: delegate, event: $0)] }
        return rows.sorted { $0.event < $1.event }
    }

    func names(of events: [LogPosition]) -> [LogPosition: EventName] {
        let contents = preview()
        return events.reduce(into: [:]) { names, position in
            names[position] = contents.event(position).map {
                EventName(id: $0.id, type: $0.type, isErased: $0.isErased)
            }
        }
    }
}

extension MemoryReader {
    func lane(of delegate: DelegateKey) -> LanePosition? { store.read { $0.lanes[delegate] } }

    func pullState(of delegate: DelegateKey, lease id: String?) -> PullState? {
        store.read { $0.pullState(of: delegate, lease: id) }
    }

    func leases(of delegate: DelegateKey, endedBy time: Int64, limit: Int) -> [PullLease] {
        store.read { $0.leases(of: delegate, endedBy: time, limit: limit) }
    }

    func countLeases() -> Int { store.read { $0.pullLeases.values.reduce(0) { $0 + $1.count } } }
}
