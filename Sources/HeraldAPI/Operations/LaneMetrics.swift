import HeraldCore
import HeraldDelivery
import HeraldModel

/// Sums over all delegates and their lanes. Each status is included, even without delegates.
struct LaneMetrics {
    struct Group {
        /// Webhooks.
        var delegates = 0
        /// Events that they will still be sent.
        var lag: Int64 = 0
        /// The estimated part of it.
        var estimated: Int64 = 0
        var greatestLag: Int64 = 0
        /// The time of the oldest of them, in milliseconds since 1970 UTC; `nil` if there is none.
        var oldest: Int64?
    }

    private var groups: [WebhookStatus: Group] = [:]
    private var pulls: [WebhookStatus: Int] = [:]
    private(set) var activeLanes = 0
    private(set) var inFlight = 0
    private(set) var retrying = 0
    /// Delegates with deliveries that are due and may not start, by limit.
    private(set) var limited: [FlowStatus.Reason: Int] = [:]
    private(set) var circuits: [FlowStatus.Circuit: Int] = [:]

    /// - Parameters:
    ///   - lanes: lanes with a backlog or open deliveries.
    ///   - backlogs: of delegates that are behind.
    init(
        _ delegates: [WebhookDelegate], _ lanes: [DelegateKey: LaneSnapshots.Entry], _ backlogs: [DelegateKey: Backlog]
    ) {
        for delegate in delegates {
            let lane = lanes[delegate.key]
            let status = delegate.shownStatus(lane)
            var group = groups[status] ?? Group()
            if delegate.settings.kind == .pull { pulls[status, default: 0] += 1 } else { group.delegates += 1 }
            if let lane {
                // Of one that has nothing to do, there may be an entry with the limits of its receiver.
                if lane.cursor != nil || lane.inFlight + lane.retrying + lane.replays > 0 { activeLanes += 1 }
                inFlight += lane.inFlight
                retrying += lane.retrying
                if let reason = lane.flow.limitedBy { limited[reason, default: 0] += 1 }
                if lane.flow.circuit != .closed { circuits[lane.flow.circuit, default: 0] += 1 }
            }
            if let backlog = backlogs[delegate.key] {
                group.lag += backlog.events
                if backlog.isEstimate { group.estimated += backlog.events }
                group.greatestLag = max(group.greatestLag, backlog.events)
                if let oldest = backlog.oldest { group.oldest = min(group.oldest ?? oldest, oldest) }
            }
            groups[status] = group
        }
    }

    /// The pull delegates by status.
    var pullsByStatus: [MetricsPage.Sample] {
        WebhookStatus.allCases.compactMap { status in
            pulls[status].map { .init(("kind", DelegateKind.pull.rawValue), ("status", status.rawValue), value: $0) }
        }
    }

    func byStatus(_ sample: (_ status: String, Group) -> MetricsPage.Sample) -> [MetricsPage.Sample] {
        WebhookStatus.allCases.map { sample($0.rawValue, groups[$0] ?? Group()) }
    }
}
