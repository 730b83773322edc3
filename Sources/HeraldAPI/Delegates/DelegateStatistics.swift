import HeraldCore
import HeraldJSON
import HeraldRuntime

/// The statistics of a webhook: its backlog and its recent attempts.
struct DelegateStatistics {
    private let delegate: WebhookDelegate
    private let lane: LaneSnapshots.Entry?
    private let backlog: Backlog
    /// Age of the oldest event of the backlog, in milliseconds; `nil` if there is no backlog.
    private let behind: Int64?
    private let exhausted: Int
    private let replays: [ReplayProgress]
    private let hour: DeliveryStatistics
    private let day: DeliveryStatistics

    /// A reader's thread.
    init(_ delegate: WebhookDelegate, _ hub: Hub, _ reader: any StoreReader) throws {
        let now = hub.clock.wall()
        self.delegate = delegate
        lane = hub.lane(of: delegate.key)
        let counter = BacklogCounter(hub, reader)
        backlog = try counter.count(delegate)
        behind = backlog.oldest.map { max(0, now - $0) }
        var exhausted = DeliveryQuery([.exhausted])
        exhausted.app = delegate.app
        exhausted.delegate = delegate.key
        self.exhausted = try reader.countDeliveries(exhausted)
        replays = try reader.replays(delegate.key).map { try ReplayProgress($0, delegate, hub, counter) }
        // The current slot and the previous ones.
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

    fileprivate func write(to json: inout JSONObjectWriter, _ seal: NumberSeal) {
        json.member("delegate", delegate.id)
        json.object("pending") {
            $0.lag(backlog, lane)
            $0.member("seconds", behind.map { Double($0) / 1000 } ?? 0)
            $0.member("exhausted", exhausted)
        }
        json.object("last_hour") { $0.members(of: hour) }
        json.object("last_day") { $0.members(of: day) }
        json.array("replays") { list in
            for replay in replays {
                list.object { $0.members(of: replay, seal, delegate.app) }
            }
        }
    }
}

extension JSONObjectWriter {
    mutating func members(of statistics: DelegateStatistics, _ seal: NumberSeal) {
        statistics.write(to: &self, seal)
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
