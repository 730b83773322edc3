extension Recovery {
    static func loop(of key: DelegateKey, among count: Int) -> Int { Int(key % Int64(count)) }

    /// The lanes that one of the loops owns, as they were.
    func lanes(of loop: Int, among count: Int) -> [DeliveryLoop.RestoredLane] {
        var lanes: [DelegateKey: DeliveryLoop.RestoredLane] = [:]
        var order: [DelegateKey] = []
        for delegate in delegates where Self.loop(of: delegate.key, among: count) == loop {
            lanes[delegate.key] = .init(delegate: delegate)
            order.append(delegate.key)
        }
        for position in self.lanes { lanes[position.delegate]?.position = position }
        for delivery in waiting { lanes[delivery.delegate]?.waiting.append(delivery) }
        for delivery in decided { lanes[delivery.delegate]?.decided.insert(delivery.event) }
        for replay in replays { lanes[replay.delegate]?.replays.append(replay) }
        return order.compactMap { lanes[$0] }
    }
}
