package import HeraldModel

/// Whole lists of deliveries, and changes of them in one step.
extension DeliveryReader {
    package func deliveries(_ query: DeliveryQuery) throws(StoreError) -> [WaitingDelivery] { try search(query).rows }
}

extension DeliveryTransaction {
    package func redeliver(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [WaitingDelivery] {
        let again = try search(query).rows.map { $0.again(at: time) }
        try redeliver(again)
        return again
    }

    package func drop(_ query: DeliveryQuery, at time: Int64) throws(StoreError) -> [DeliveryKey] {
        let dropped = try search(query).rows.map(\.key)
        try drop(dropped, at: time)
        return dropped
    }
}
