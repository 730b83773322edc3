import HeraldDelivery
package import HeraldModel
import HeraldRuntime

/// A step of a consumer of a pull delegate, with its completion.
///
/// Memory proposes what a pull hands out, and the store decides: a proposal that is out of date is refused, and made again.
package struct PullWrite: Sendable {
    /// The result of a scan for a pull.
    package struct Proposal: Sendable {
        /// The position of the lane when the scan began.
        package var from: LogPosition
        /// The position after it.
        package var to: LogPosition
        /// The events to hand out, ascending by event; may be empty if there are rows to end, or if the position advances.
        package var entries: [PullLease.Entry]
        /// Rows that the delegate no longer wants, or whose events are damaged.
        package var ended: [WaitingDelivery]
        package var ackSeconds: Int
        /// A lease that is acknowledged first, in the same transaction.
        package var acknowledges: String?
    }

    /// An event that a consumer reports as failed, or gives back.
    package struct Failed: Sendable {
        /// In seconds.
        package static let retryAfterRange: ClosedRange<Int64> = 0...604_800
        /// Characters.
        package static let maxReason = 200

        package let id: String
        /// In seconds; `nil` for the retry schedule.
        package let retryAfter: Int?
        package let reason: String
        /// It is given back, without an attempt.
        package let isReturned: Bool
        package init(id: String, retryAfter: Int? = nil, reason: String = "", isReturned: Bool = false) {
            self.isReturned = isReturned
            self.id = id
            self.retryAfter = retryAfter
            self.reason = reason
        }
    }

    package enum Action: Sendable {
        case claim(Proposal)
        case acknowledge(lease: String, failed: [Failed])
        /// Gives the events of a lease back, without an attempt.
        case release(lease: String)
        case extend(lease: String, seconds: Int)
        /// Moves the position, and releases all leases.
        case seek(to: LogPosition)

        /// The lease that it names.
        fileprivate var lease: String? {
            switch self {
            case .claim(let proposal): proposal.acknowledges
            case .acknowledge(let lease, _), .release(let lease), .extend(let lease, _): lease
            case .seek: nil
            }
        }
    }

    package struct Settled: Equatable, Sendable {
        package let acknowledged, retrying, exhausted: Int
        /// Given back, without an attempt.
        package var returned = 0
    }

    package enum Outcome: Sendable {
        /// Without the events that were erased since the scan.
        case claimed(PullLease)
        /// The proposal is out of date, or handed nothing out: the lane is there now. `hasEnded`: leases, or rows that wait for a retry,
        /// so that there are fewer for the next proposal.
        case moved(LanePosition, hasEnded: Bool)
        /// All leases of the delegate are taken: the first one ends at this time.
        case isFull(until: Int64)
        case settled(Settled)
        case extended(PullLease)
        case sought(LanePosition)
        /// Nothing was changed.
        case failed(HubError)

        /// Why nothing was changed; `nil` if it was.
        package var error: HubError? { if case .failed(let error) = self { error } else { nil } }
    }

    package let app: AppKey
    package let delegateID: String
    package let action: Action
    /// For the audit log; `nil` for the steps of consumers.
    package let provenance: Provenance?
    package let completion: @Sendable (WriteResult<Outcome>) -> Void

    package init(
        app: AppKey = .default, delegateID: String, action: Action, provenance: Provenance? = nil,
        completion: @escaping @Sendable (WriteResult<Outcome>) -> Void
    ) {
        self.app = app
        self.delegateID = delegateID
        self.action = action
        self.provenance = provenance
        self.completion = completion
    }

    /// The maximum number of leases that end in one transaction.
    private static let endedLeases = 4
}

extension PullWrite: RequestCommand {
    package func checked(by rules: WebhookRules) -> Self? {
        guard case .acknowledge(_, let failed) = action else { return self }
        var errors: [FieldError] = []
        for (index, failure) in failed.filter({ !$0.isReturned }).enumerated() {
            if let seconds = failure.retryAfter, !Failed.retryAfterRange.contains(Int64(seconds)) {
                errors.append(.integer("/failed/\(index)/retry_after", Failed.retryAfterRange))
            }
            if failure.reason.unicodeScalars.count > Failed.maxReason {
                errors.append(FieldError("/failed/\(index)/reason", "must have at most \(Failed.maxReason) characters"))
            }
        }
        if errors.isEmpty { return self }
        refuse(.invalid(errors))
        return nil
    }

    package func outcome(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) -> Outcome {
        guard let delegate = context.committed.registry.delegate(app, id: delegateID) else {
            return .failed(.noDelegate(delegateID))
        }
        guard delegate.settings.kind == .pull else { return .failed(.wrongKind(delegateID, .webhook)) }
        // An earlier write of the transaction may have removed it.
        guard let state = try transaction.pullState(of: delegate.key, lease: action.lease) else {
            return .failed(.noDelegate(delegateID))
        }
        var work = PullLane(delegate, state, context, transaction, erased: plan.erased)
        let outcome = try outcome(&work)
        try work.write(&plan)
        switch outcome {
        case .sought, .settled, .extended: try context.record(provenance, app, target: delegate.id, transaction)
        case .claimed, .moved, .isFull, .failed: break
        }
        return outcome
    }

    private func outcome(_ work: inout PullLane) throws(StoreError) -> Outcome {
        switch action {
        case .claim(let proposal):
            guard work.delegate.status == .active else { return .failed(.delegatePaused(id: delegateID)) }
            return try claim(proposal, &work)
        case .acknowledge(_, let failed):
            guard let lease = work.openLease else { return leaseEnded }
            let names = try work.names(of: lease)
            let events = Dictionary(names.map { ($0.value.id, $0.key) }) { min($0, $1) }
            var failures: [LogPosition: Failed] = [:]
            var unknown: [FieldError] = []
            var (failuresSeen, returnedSeen) = (0, 0)
            for failure in failed {
                if let event = events[failure.id] {
                    failures[event] = failure
                } else {
                    let pointer = failure.isReturned ? "/returned/\(returnedSeen)" : "/failed/\(failuresSeen)/id"
                    unknown.append(FieldError(pointer, "is no event of the lease"))
                }
                if failure.isReturned { returnedSeen += 1 } else { failuresSeen += 1 }
            }
            // The ids of those that retention has removed are not known any more.
            if unknown.count > lease.entries.count - names.count { return .failed(.invalid(unknown)) }
            return .settled(
                try work.end(lease, names, isWhole: failures.isEmpty) { settlement in
                    settlement.acknowledge(failures) { Double.random(in: 0..<1) }
                })
        case .release:
            guard let lease = work.openLease else { return leaseEnded }
            return .settled(try work.end(lease, try work.names(of: lease)) { $0.release() })
        case .extend(_, let seconds):
            guard let lease = work.openLease else { return leaseEnded }
            let end = min(work.now + Int64(seconds) * 1_000, lease.createdAt + PullLease.maxAge)
            // Its pull may have named a longer time than the delegate, which an extension without one has.
            return .extended(try work.extend(lease, to: max(end, lease.expiresAt)))
        case .seek(let position):
            try work.begin(after: position)
            return .sought(LanePosition(delegate: work.delegate.key, cursor: position, position: position))
        }
    }

    private var leaseEnded: Outcome { .failed(.leaseEnded(id: action.lease ?? "")) }

    private func claim(_ proposal: Proposal, _ work: inout PullLane) throws(StoreError) -> Outcome {
        if proposal.acknowledges != nil {
            guard let lease = work.openLease else { return leaseEnded }
            _ = try work.end(lease, try work.names(of: lease), isWhole: true, keepsRow: true) {
                $0.acknowledge([:]) { 0 }
            }
        }
        let totals = try work.leaseTotals()
        if let end = totals.firstEnd, end <= work.now {
            let ended = try work.transaction.leases(
                of: work.delegate.key, endedBy: work.now, limit: Self.endedLeases)
            for lease in ended {
                _ = try work.end(lease, try work.names(of: lease)) { $0.expire { Double.random(in: 0..<1) } }
            }
            return .moved(work.lane, hasEnded: !ended.isEmpty)
        }
        if work.lane.position != proposal.from { return .moved(work.lane, hasEnded: false) }
        let isStrict = work.delegate.settings.ordering == .strict
        if totals.count >= (isStrict ? 1 : PullLease.maxCount) {
            return .isFull(until: totals.firstEnd ?? work.now)
        }
        guard try work.areDue(proposal) else { return .moved(work.lane, hasEnded: false) }
        for row in proposal.ended { work.checkpoint.waiting.append(row) }
        work.position = proposal.to
        // The scan may have read what was erased since.
        let entries = proposal.entries.filter { !work.erased.contains($0.event) }
        if entries.isEmpty {
            let lane = LanePosition(delegate: work.delegate.key, cursor: proposal.to, position: proposal.to)
            return .moved(lane, hasEnded: !proposal.ended.isEmpty)
        }
        let lease = PullLease(
            delegate: work.delegate.key, id: work.context.ids.next("ls_", time: work.now), createdAt: work.now,
            expiresAt: work.now + Int64(proposal.ackSeconds) * 1_000, entries: entries)
        try work.hold(lease)
        work.change.handedOut += lease.entries.count
        work.change.isRetry = lease.firstOfLog == nil
        return .claimed(lease)
    }
}
