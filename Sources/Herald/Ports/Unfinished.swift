// Until both stores have these: removed by the commit that adds them.
extension StoreTransaction {
    public func redeliver(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [WaitingDelivery] {
        throw unfinished
    }
    public func drop(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [DeliveryKey] { throw unfinished }
    public func recipients(event: Sequence) throws(StoreError) -> [DelegateKey] { throw unfinished }
    public func addReplay(
        delegate: DelegateKey, after cursor: Sequence, until: Sequence, at time: Int64
    ) throws(StoreError) -> Replay { throw unfinished }
    public func countReplays(_ delegate: DelegateKey) throws(StoreError) -> Int { throw unfinished }
    public func addMark(_ mark: LogMark) throws(StoreError) {}
    public func removeEvents(through sequence: Sequence, limit: Int) throws(StoreError) -> Sequence { throw unfinished }
    public func removeAttempts(before time: Int64, limit: Int) throws(StoreError) -> Int { throw unfinished }
    public func removeStatistics(before time: Int64) throws(StoreError) { throw unfinished }
    public func erase(_ events: [Sequence]) throws(StoreError) -> Erasure { throw unfinished }
    public func eraseSubject(_ subject: String, app: AppKey) throws(StoreError) -> Erasure { throw unfinished }
    public func setEventType(_ type: EventTypeRecord) throws(StoreError) { throw unfinished }
    public func removeEventType(_ type: String, app: AppKey) throws(StoreError) { throw unfinished }
}

extension StoreReader {
    public func deliveries(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery] { throw unfinished }
    public func countDeliveries(_ query: DeliveryQuery) throws(StoreError) -> Int { throw unfinished }
    public func sequence(since time: Int64) throws(StoreError) -> Sequence { throw unfinished }
    public func sequences(
        about subject: String, app: AppKey, after sequence: Sequence, limit: Int
    ) throws(StoreError) -> [Sequence] { throw unfinished }
    public func replays(_ delegate: DelegateKey) throws(StoreError) -> [Replay] { throw unfinished }
    public func statistics(_ delegate: DelegateKey, since start: Int64) throws(StoreError) -> [DeliveryStatistics] {
        throw unfinished
    }
    public func lastEvent(before time: Int64) throws(StoreError) -> Sequence { throw unfinished }
    public func size() throws(StoreError) -> Int64 { throw unfinished }
    public func lastEvent() throws(StoreError) -> Sequence { throw unfinished }
    public func firstEvent() throws(StoreError) -> Sequence { throw unfinished }
}

private let unfinished = StoreError.failed(reason: "not there yet")
