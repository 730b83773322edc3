import HeraldCore
import HeraldDelivery
import HeraldModel
import HeraldRuntime
import Synchronization

/// Metrics of the delivery loops and their lanes.
extension Metrics {
    func writeDeliveries(_ page: inout MetricsPage) {
        let counters = hub.deliveryCounters
        func sum(_ part: (DeliveryCounters) -> Int) -> Int { counters.reduce(0) { $0 + part($1) } }
        let succeeded = sum { $0.succeeded.load(ordering: .relaxed) }
        page.counter(
            "herald_deliveries_total", "Deliveries that ended, by outcome.",
            .init(("outcome", "delivered"), value: succeeded),
            .init(("outcome", "exhausted"), value: sum { $0.gaveUp.load(ordering: .relaxed) }))
        page.counter(
            "herald_deliveries_missed_total",
            "Deliveries that were not made because the event was no longer in the log.",
            sum { $0.missed.load(ordering: .relaxed) } + hub.committed.pulls.count(of: .missed))
        let failures = OutcomeMeaning.allCases.filter { $0 != .success }.map { meaning in
            (meaning: meaning, count: sum { $0.attempts(meaning) })
        }
        page.counter(
            "herald_requests_not_made_total",
            "Deliveries that ended because the recipe of the delegate makes no request of the event.",
            sum { $0.notMade.load(ordering: .relaxed) })
        page.counter(
            "herald_attempts_total", "Attempts to deliver, by outcome.",
            .init(("outcome", "succeeded"), value: succeeded),
            .init(("outcome", "failed"), value: failures.reduce(0) { $0 + $1.count }))
        page.counter(
            "herald_attempt_failures_total",
            "Attempts that failed, by kind: rejection (429, 503), failure (another status, "
                + "or a malformed response), unreachable (no connection), hang (no response in time).",
            failures.map { .init(("kind", $0.meaning.rawValue), value: $0.count) })
        if let durations = counters.map(\.durations.snapshot).merged {
            page.histogram("herald_attempt_duration_seconds", "Attempts, by their time.", durations)
        }
    }

    /// Metrics of pull delegates.
    func writePulls(_ page: inout MetricsPage, _ reader: (any StoreReader)?) {
        page.counter(
            "herald_pulled_events_total",
            "Events of pull delegates: handed out, and settled by their outcome (expired: their lease has ended).",
            PullTotals.Outcome.allCases.filter { $0 != .missed }.map { outcome in
                .init(("outcome", outcome.rawValue), value: hub.committed.pulls.count(of: outcome))
            })
        guard let reader, let leases = found({ try reader.countLeases() }) else { return }
        page.gauge("herald_leases", "Leases of pulled events that are not settled, in the store.", leases)
    }

    func writeLanes(_ page: inout MetricsPage, _ reader: (any StoreReader)?) {
        let boards = hub.laneBoards
        let settled = boards.map(\.settled).min()
        var entries = boards.reduce(into: [:]) { $0.merge($1.allEntries) { $1 } }
        // Read after the snapshots, so that no lane is ahead of it.
        let head = hub.head
        // Each node has the lanes of all pull delegates: one of them counts a lane, as for webhooks.
        let shards = hub.nodeMonitor.shards.held
        for delegate in hub.committed.registry.pulls where shards.contains(delegate.key) {
            if let lane = hub.lane(of: delegate), lane.next ?? .max <= head { entries[delegate.key] = lane }
        }
        let delegates = hub.committed.registry.all
        let lanes = delegates.compactMap { delegate -> BacklogCounter.Lane? in
            entries[delegate.key].map { (delegate, $0) }
        }
        // While the store cannot be read, memory gives an estimate: 0 would mean that no delegate is behind.
        let counted =
            found({ try BacklogCounter(hub, reader).count(lanes) }) ?? (try? BacklogCounter(hub, nil).count(lanes))
        let survey = LaneMetrics(delegates, entries, counted ?? [:])
        page.gauge("herald_log_last_sequence", "The number of the last event.", head)
        page.gauge("herald_pending_events", "Scheduled events, which are published later.", hub.committed.pending.total)
        page.gauge(
            "herald_pending_late_seconds",
            "How late the next scheduled event is; 0 on a node that does not publish them.",
            .init(value: Double(hub.committed.pending.lateness(hub.clock.wall())) / 1000))
        page.counter(
            "herald_pending_refused_total", "Events that were committed, could not be published, and were put aside.",
            hub.committed.refused.count)
        page.gauge(
            "herald_routing_lag_events", "Events that a delivery loop has not taken up and recorded yet.",
            settled.map { max(0, head - $0) } ?? 0)
        page.gauge(
            "herald_delegates", "Delegates, by kind and status.",
            survey.byStatus { .init(("kind", "webhook"), ("status", $0), value: $1.delegates) } + survey.pullsByStatus
                + [
                    .init(("kind", "in_memory"), ("status", "active"), value: hub.inMemoryDelegates.count),
                    .init(("kind", "stream"), ("status", "active"), value: streams.count),
                ])
        page.gauge("herald_lanes_active", "Delegates with something in flight, behind, or waiting.", survey.activeLanes)
        page.gauge("herald_deliveries_in_flight", "Attempts that are under way.", survey.inFlight)
        page.gauge("herald_deliveries_retrying", "Deliveries that wait for their next attempt.", survey.retrying)
        page.gauge(
            "herald_delegates_limited",
            "Delegates with deliveries that are ready and may not start now, by what limits them.",
            FlowStatus.Reason.allCases.map { .init(("reason", $0.rawValue), value: survey.limited[$0] ?? 0) })
        page.gauge(
            "herald_circuits", "Delegates whose circuit is suspect or open, because their receivers fail.",
            [FlowStatus.Circuit.suspect, .open].map {
                .init(("state", $0.rawValue), value: survey.circuits[$0] ?? 0)
            })
        page.gauge(
            "herald_lane_lag_events",
            "Events that delegates will still be sent, all together, by their status; what waits for a retry is not meant.",
            survey.byStatus { .init(("status", $0), value: $1.lag) })
        page.gauge(
            "herald_lane_lag_estimated_events",
            "The estimated part of these, for backlogs that are too long to count.",
            survey.byStatus { .init(("status", $0), value: $1.estimated) })
        page.gauge(
            "herald_lane_lag_max_events",
            "Events that the delegate that is furthest behind will still be sent, by its status.",
            survey.byStatus { .init(("status", $0), value: $1.greatestLag) })
        let now = hub.clock.wall()
        page.gauge(
            "herald_oldest_undelivered_age_seconds",
            "Age of the oldest event that a delegate will still be sent, by its status; retries are not meant.",
            survey.byStatus { .init(("status", $0), value: $1.oldest.map { Double(max(0, now - $0)) / 1000 } ?? 0) })
    }
}
