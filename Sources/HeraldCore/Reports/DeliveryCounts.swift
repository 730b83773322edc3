package import HeraldModel

/// The deliveries of an app in one state, by delegate: how many there are, and how they failed last.
package struct DeliveryCounts: Sendable {
    package struct Entry: Sendable {
        package let delegate: WebhookDelegate
        package let deliveries: Int
        /// `nil` if the log no longer has it, or if it is damaged.
        package let newest: Event?
        /// The last attempt to deliver it; `nil` if there was none, or if it was removed.
        package let lastAttempt: AttemptRecord?
    }

    package var deliveries = 0
    package var delegates = 0
    /// The delegates with the most deliveries, the largest number first.
    package var entries: [Entry] = []
    /// The delivery after which the count continues: the numbers are those of a part. `nil` if it is complete.
    package var next: DeliveryKey?

    /// Counts in the states of a selection, by default exhausted deliveries. A reader's thread.
    /// - Parameters:
    ///   - before: only deliveries after this one in the order of the list.
    ///   - limit: the maximum number of entries; each costs two reads.
    package init(
        _ selection: DeliverySelection, before: DeliveryKey? = nil, limit: Int, _ hub: Hub, _ reader: any StoreReader
    ) throws {
        var sums: [DelegateKey: (deliveries: Int, newest: LogPosition)] = [:]
        let states: Set<WaitingDelivery.State> = selection.state?.stored ?? [.exhausted]
        if selection.hasConditions || before != nil {
            var query = try selection.query(states, reader)
            query.before = before
            query.limit = DeliveryWrite.maxDeliveries
            let page = try reader.search(query)
            next = page.rest
            for row in page.rows {
                let sum = sums[row.delegate] ?? (0, 0)
                sums[row.delegate] = (sum.deliveries + 1, max(sum.newest, row.event))
            }
        } else {
            for state in states {
                for count in try reader.countDeliveries(app: selection.app, state) {
                    let sum = sums[count.delegate] ?? (0, 0)
                    sums[count.delegate] = (sum.deliveries + count.deliveries, max(sum.newest, count.newest))
                }
            }
        }
        let found = sums.compactMap { key, sum in
            hub.committed.registry.delegate(key: key).map {
                (delegate: $0, deliveries: sum.deliveries, newest: sum.newest)
            }
        }
        delegates = found.count
        deliveries = found.reduce(0) { $0 + $1.deliveries }
        let shown = found.sorted {
            ($0.deliveries, $0.newest, $0.delegate.key) > ($1.deliveries, $1.newest, $1.delegate.key)
        }
        .prefix(limit)
        let events = try EventHeads(shown.map(\.newest), reader)
        entries = try shown.map {
            Entry(
                delegate: $0.delegate, deliveries: $0.deliveries, newest: events[$0.newest],
                lastAttempt: try reader.lastAttempt($0.delegate.key, $0.newest)?.record)
        }
    }
}

extension StoreReader {
    /// The last attempt of a delivery.
    func lastAttempt(_ delegate: DelegateKey, _ event: LogPosition) throws -> StoredAttempt? {
        var query = AttemptQuery(delegate: delegate)
        query.event = event
        query.limit = 1
        return try attempts(query).first
    }

    /// The row of a delivery; `nil` if it has none.
    func row(_ delegate: WebhookDelegate, _ event: LogPosition) throws -> WaitingDelivery? {
        var query = DeliveryQuery(Set(WaitingDelivery.State.allCases), to: delegate)
        query.event = event
        query.limit = 1
        return try search(query).rows.first
    }
}
