/// Deliveries with a row of their own, and replays.
extension MemoryContents {
    func deliveries(_ query: DeliveryQuery) -> [WaitingDelivery] {
        let found = waiting.values.filter { query.matches($0, self) && query.isNext($0) }
            .sorted { ($0.event, $0.delegate) > ($1.event, $1.delegate) }
        return found.prefix(query.limit).map(withSubject)
    }

    func withSubject(_ delivery: WaitingDelivery) -> WaitingDelivery {
        WaitingDelivery(
            delegate: delivery.delegate, event: delivery.event, attempts: delivery.attempts, dueAt: delivery.dueAt,
            state: delivery.state, isReplay: delivery.isReplay, isNamed: delivery.isNamed,
            subject: event(delivery.event)?.subject)
    }

    mutating func redeliver(_ query: DeliveryQuery, at time: Int64) -> [WaitingDelivery] {
        deliveries(query).map { found in
            let again = WaitingDelivery(
                delegate: found.delegate, event: found.event, attempts: 0, dueAt: time, state: .retrying,
                isReplay: true, subject: found.subject)
            waiting[DeliveryKey(delegate: found.delegate, event: found.event)] = again
            return again
        }
    }

    mutating func drop(_ query: DeliveryQuery, at time: Int64) -> [DeliveryKey] {
        deliveries(query).map { found in
            let key = DeliveryKey(delegate: found.delegate, event: found.event)
            waiting[key] = WaitingDelivery(
                delegate: found.delegate, event: found.event, attempts: found.attempts, dueAt: time, state: .dropped,
                isReplay: found.isReplay)
            return key
        }
    }

    func recipients(event: LogPosition) -> [DelegateKey] {
        let attempted = attempts.lazy.filter { $0.record.event == event }.map(\.record.delegate)
        let waiting = waiting.keys.lazy.filter { $0.event == event }.map(\.delegate)
        return Set(attempted).union(waiting).sorted()
    }

    /// `nil` when there is no such delegate.
    mutating func addReplay(
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
    /// Whether the delivery is meant, on whatever page.
    func matches(_ delivery: WaitingDelivery, _ contents: MemoryContents) -> Bool {
        states.contains(delivery.state) && (delegate == nil || delivery.delegate == delegate)
            && (event == nil || delivery.event == event) && events?.contains(delivery.event) != false
            && contents.delegates[delivery.delegate]?.app == app
    }

    fileprivate func isNext(_ delivery: WaitingDelivery) -> Bool {
        before.map { (delivery.event, delivery.delegate) < ($0.event, $0.delegate) } ?? true
    }
}
