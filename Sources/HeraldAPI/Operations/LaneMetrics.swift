import HeraldCore

/// What the delegates and their lanes come to, all together. Of each status, whether there is a delegate with it or not.
struct LaneMetrics {
    struct Group {
        var delegates = 0
        /// Events that they will still be sent.
        var lag: Int64 = 0
        /// How many of these are estimated.
        var estimated: Int64 = 0
        var greatestLag: Int64 = 0
        /// When the oldest of them was, in milliseconds since 1970 UTC; `nil`: there is none.
        var oldest: Int64?
    }

    private var groups: [ShownStatus: Group] = [:]
    private(set) var activeLanes = 0
    private(set) var inFlight = 0
    private(set) var retrying = 0
    /// Delegates with deliveries that are ready and may not start, by what limits them.
    private(set) var limited: [FlowStatus.Reason: Int] = [:]
    private(set) var circuits: [FlowStatus.Circuit: Int] = [:]

    /// - Parameters:
    ///   - lanes: those that have something to tell.
    ///   - backlogs: of those that are behind.
    init(
        _ delegates: [WebhookDelegate], _ lanes: [DelegateKey: LaneSnapshots.Entry], _ backlogs: [DelegateKey: Backlog]
    ) {
        for delegate in delegates {
            let lane = lanes[delegate.key]
            let status = delegate.shownStatus(lane)
            var group = groups[status] ?? Group()
            group.delegates += 1
            if let lane {
                activeLanes += 1
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

    func byStatus(_ sample: (_ status: String, Group) -> MetricsPage.Sample) -> [MetricsPage.Sample] {
        ShownStatus.allCases.map { sample($0.rawValue, groups[$0] ?? Group()) }
    }
}
