package import HeraldDelivery
package import HeraldModel
import HeraldRuntime

/// The statistics of a webhook: its backlog and its recent attempts.
package struct DelegateStatistics {
    package let delegate: WebhookDelegate
    package let lane: LaneSnapshots.Entry?
    package let backlog: Backlog
    /// Age of the oldest event of the backlog, in milliseconds; `nil` if there is no backlog.
    package let behind: Int64?
    package let exhausted: Int
    package let replays: [ReplayProgress]
    package let hour: DeliveryStatistics
    package let day: DeliveryStatistics
    /// The last 24 hours, without gaps, the oldest first; the last one is still open.
    package let hours: [Activity.Point]

    /// A reader's thread.
    package init(_ delegate: WebhookDelegate, _ hub: Hub, _ reader: any StoreReader) throws {
        let now = hub.clock.wall()
        self.delegate = delegate
        lane = hub.lane(of: delegate)
        let counter = BacklogCounter(hub, reader)
        backlog = try counter.count(delegate)
        behind = backlog.oldest.map { max(0, now - $0) }
        exhausted = try reader.countDeliveries(DeliveryQuery([.exhausted], to: delegate))
        replays = try reader.replays(delegate.key).map { try ReplayProgress($0, delegate, hub, counter) }
        // The current slot and the previous ones.
        let slot = DeliveryStatistics.slot
        let present = now / slot * slot
        let slots =
            try reader.statistics(delegate.key, since: present - 287 * slot) + hub.currentStatistics(delegate.key)
        hour = Self.sum(slots, delegate, in: present - 11 * slot...present)
        day = Self.sum(slots, delegate, in: present - 287 * slot...present)
        let hours = try Activity.slots(.hour, since: nil, until: nil, now: now)
        self.hours = try Activity(.delegate(delegate), .hour, hours, hub, reader).points
    }

    /// A wrong clock may have made slots of a time to come.
    static func sum(
        _ slots: [DeliveryStatistics], _ delegate: WebhookDelegate, in time: ClosedRange<Int64>
    ) -> DeliveryStatistics {
        let sum = DeliveryStatistics(delegate: delegate.key, start: time.lowerBound)
        return slots.filter { time.contains($0.start) }.reduce(into: sum) { $0.add($1) }
    }
}
