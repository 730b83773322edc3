import Herald
import JSON
import Runtime

/// How a webhook does: how far it is behind, and what became of its attempts lately.
struct DelegateStatistics {
    private let delegate: WebhookDelegate
    private let lane: LaneBoard.Entry?
    /// Age of the oldest event that it has not got past, in milliseconds; `nil`: it is up to date.
    private let behind: Int64?
    private let exhausted: Int
    private let replays: [Replay]
    private let hour: DeliveryStatistics
    private let day: DeliveryStatistics

    /// A reader's thread.
    init(_ delegate: WebhookDelegate, _ hub: Hub, _ reader: any StoreReader) throws {
        let now = hub.clock.wall()
        self.delegate = delegate
        lane = hub.lane(of: delegate.key)
        let oldest = try lane?.cursor.flatMap { try hub.usage.next(of: delegate.app, after: $0, reader) }
        behind = oldest.map { max(0, now - $0.time) }
        var exhausted = DeliveryQuery([.exhausted])
        exhausted.app = delegate.app
        exhausted.delegate = delegate.key
        self.exhausted = try reader.countDeliveries(exhausted)
        replays = try reader.replays(delegate.key)
        // The slot that has begun, and those before it.
        let slot = DeliveryStatistics.slot
        let present = now / slot * slot
        let slots =
            try reader.statistics(delegate.key, since: present - 287 * slot) + hub.currentStatistics(delegate.key)
        hour = Self.sum(slots, delegate, since: present - 11 * slot)
        day = Self.sum(slots, delegate, since: present - 287 * slot)
    }

    private static func sum(
        _ slots: [DeliveryStatistics], _ delegate: WebhookDelegate, since start: Int64
    ) -> DeliveryStatistics {
        slots.filter { $0.start >= start }.reduce(into: DeliveryStatistics(delegate: delegate.key, start: start)) {
            $0.add($1)
        }
    }

    fileprivate func write(to json: inout JSONObjectWriter, _ hub: Hub, _ seal: NumberSeal) {
        json.member("delegate", delegate.id)
        json.object("pending") {
            $0.lag(lane, of: delegate.app, in: hub)
            $0.member("seconds", behind.map { Double($0) / 1000 } ?? 0)
            $0.member("exhausted", exhausted)
        }
        json.object("last_hour") { $0.members(of: hour) }
        json.object("last_day") { $0.members(of: day) }
        json.array("replays") { list in
            for replay in replays {
                list.object {
                    $0.member("id", seal.id(of: replay, app: delegate.app))
                    $0.member("events", hub.usage.events(of: delegate.app, in: replay))
                    $0.member("created_at", .timestamp(replay.createdAt))
                }
            }
        }
    }
}

extension JSONObjectWriter {
    mutating func members(of statistics: DelegateStatistics, _ hub: Hub, _ seal: NumberSeal) {
        statistics.write(to: &self, hub, seal)
    }

    fileprivate mutating func members(of slots: DeliveryStatistics) {
        member("delivered", slots.delivered)
        member("failed", slots.failed)
        object("latency_ms") {
            for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
                $0.member(name, slots.latencies.percentile(share).map { Double($0) / 1000 })
            }
        }
    }
}

extension LogUsage {
    /// The first event of an app after a place. A reader's thread.
    fileprivate func next(of app: AppKey, after place: Sequence, _ reader: any StoreReader) throws(StoreError) -> Event?
    {
        for stretch in stretches(of: app, before: .max).reversed() where stretch.upperBound > place {
            var place = max(place, stretch.lowerBound - 1)
            while place < stretch.upperBound {
                let batch = try reader.events(after: place, limit: 256, maxBytes: 1 << 20)
                if batch.events.isEmpty { return nil }
                if let event = batch.events.first(where: { $0.app == app }) { return event }
                place = batch.last
            }
        }
        return nil
    }
}
