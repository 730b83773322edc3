/// Reads deliveries.
extension MemoryReader {
    func attempts(_ query: AttemptQuery) -> [StoredAttempt] {
        store.read { contents in
            Array(contents.attempts.reversed().lazy.filter { query.matches($0) }.prefix(query.limit))
        }
    }

    func attempts(event: LogPosition) -> [StoredAttempt] {
        store.read { contents in contents.attempts.filter { $0.record.event == event } }
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

    func deliveries(_ query: DeliveryQuery) -> [WaitingDelivery] {
        store.read { $0.deliveries(query) }
    }

    func countDeliveries(_ query: DeliveryQuery) -> Int {
        store.read { contents in contents.waiting.values.count { query.matches($0, contents) } }
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

    func lanePositions() -> [LanePosition] {
        store.read { $0.lanes.values.sorted { $0.delegate < $1.delegate } }
    }
}

extension AttemptQuery {
    fileprivate func matches(_ attempt: StoredAttempt) -> Bool {
        attempt.record.delegate == delegate && (event == nil || attempt.record.event == event)
            && (succeeded == nil || attempt.record.succeeded == succeeded) && attempt.id < before ?? .max
    }
}
