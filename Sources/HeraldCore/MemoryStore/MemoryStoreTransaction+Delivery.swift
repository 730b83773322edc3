/// Changes of deliveries.
extension MemoryTransaction {
    func write(_ checkpoint: Checkpoint) {
        apply { $0.write(checkpoint) }
    }

    func redeliver(_ query: DeliveryQuery, at time: Int64) -> [WaitingDelivery] {
        change { $0.redeliver(query, at: time) }
    }

    func drop(_ query: DeliveryQuery, at time: Int64) -> [DeliveryKey] {
        change { $0.drop(query, at: time) }
    }

    func recipients(event: LogPosition) -> [DelegateKey] {
        preview().recipients(event: event)
    }

    func addReplay(
        delegate: DelegateKey, after cursor: LogPosition, until: LogPosition, at time: Int64
    ) throws(StoreError) -> Replay {
        let added = change { $0.addReplay(delegate: delegate, after: cursor, until: until, at: time) }
        guard let added else { throw .failed(reason: "delegate \(delegate) was deleted") }
        return added
    }

    func removeReplay(_ id: Int64, of delegate: DelegateKey) -> Bool {
        change { contents in
            guard contents.replays[id]?.delegate == delegate else { return false }
            contents.replays[id] = nil
            return true
        }
    }

    func countReplays(_ delegate: DelegateKey) -> Int {
        preview().replays.values.count { $0.delegate == delegate }
    }

    func removeAttempts(before time: Int64, limit: Int) -> Int {
        change { $0.removeAttempts(before: time, limit: limit) }
    }

    func removeStatistics(before time: Int64) {
        apply { contents in contents.statistics = contents.statistics.filter { $0.key.start >= time } }
    }
}
