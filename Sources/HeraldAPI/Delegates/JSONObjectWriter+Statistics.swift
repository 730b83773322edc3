import HeraldCore
import HeraldJSON
import HeraldModel

extension JSONObjectWriter {
    mutating func members(of statistics: DelegateStatistics, _ seal: NumberSeal) {
        member("delegate", statistics.delegate.id)
        object("pending") {
            $0.lag(statistics.backlog, statistics.lane)
            $0.member("seconds", statistics.behind.map { Double($0) / 1000 } ?? 0)
            $0.member("exhausted", statistics.exhausted)
        }
        object("last_hour") { $0.members(of: statistics.hour) }
        object("last_day") { $0.members(of: statistics.day) }
        array("hours", of: statistics.hours) { hour, entry in
            entry.member("start", .timestamp(hour.start))
            entry.member("delivered", hour.delivered)
            entry.member("failed", hour.failed)
        }
        array("replays", of: statistics.replays) { $1.members(of: $0, seal, statistics.delegate.app) }
    }

    mutating func members(of point: Activity.Point) {
        member("start", .timestamp(point.start))
        member("events", point.events)
        member("delivered", point.delivered)
        member("failed", point.failed)
    }

    private mutating func members(of slots: DeliveryStatistics) {
        member("delivered", slots.delivered)
        member("failed", slots.failed)
        object("latency_ms") {
            for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
                $0.member(name, slots.latencies.percentile(share).map { Double($0) / 1000 })
            }
        }
    }

    mutating func members(of replay: ReplayProgress, _ seal: NumberSeal, _ app: AppKey) {
        member("id", seal.id(of: replay.replay, app: app))
        members(of: replay.backlog)
        member("progress", replay.progress)
        member("created_at", .timestamp(replay.replay.createdAt))
    }
}
