import Herald

/// What the delegates and their lanes come to, all together. Of each status, whether there is a delegate with it or not.
struct LaneSurvey {
    struct Group {
        var delegates = 0
        /// Events that they have still to come to.
        var lag: Int64 = 0
        var greatestLag: Int64 = 0
        /// The place of the one that is furthest behind; `nil`: none is.
        var cursor: Sequence?
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
    ///   - head: the last event of the log.
    init(_ delegates: [WebhookDelegate], _ lanes: [DelegateKey: LaneBoard.Entry], head: Sequence) {
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
                if let cursor = lane.cursor, cursor < head {
                    group.lag += head - cursor
                    group.greatestLag = max(group.greatestLag, head - cursor)
                    group.cursor = min(group.cursor ?? cursor, cursor)
                }
            }
            groups[status] = group
        }
    }

    func byStatus(_ sample: (_ status: String, Group) -> MetricsPage.Sample) -> [MetricsPage.Sample] {
        ShownStatus.allCases.map { sample($0.rawValue, groups[$0] ?? Group()) }
    }
}
