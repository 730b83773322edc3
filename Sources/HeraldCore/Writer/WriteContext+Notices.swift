import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Notices of delegates become events of the log and changes of the registry, in the transaction of their checkpoint.
extension WriteContext {
    func take(
        _ notices: [DeliveryNotice], _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        // The registry has the committed state; one delegate may have several notices.
        var changed: [DelegateKey: WebhookDelegate] = [:]
        var removed: Set<DelegateKey> = []
        var room = RemovalRoom()
        // Many leases may end at the same time.
        var later: [DeliveryNotice] = []
        for notice in notices where !removed.contains(notice.delegate) {
            if room.isUsed, notice.kind.isEndOfLease {
                later.append(notice)
                continue
            }
            guard let delegate = changed[notice.delegate] ?? committed.registry.delegate(key: notice.delegate) else {
                continue
            }
            if let url = notice.url, url != delegate.settings.url { continue }
            if let cause = DelegateLifecycle.Cause(notice.kind) {
                let now = notice.kind.isEndOfLease ? ages.now(forAge: lease(of: delegate)) : clock.wall()
                var state = delegate.state
                let next: WebhookDelegate
                switch state.apply(cause, now: now) {
                case .nothing: continue
                case .observe: next = delegate.observed(state)
                case .change: next = delegate.changed(to: state, at: now)
                case .expire:
                    guard try !remove([delegate], &room, transaction, &plan).isEmpty else {
                        later.append(notice)
                        continue
                    }
                    announce(notice.kind, delegate, &plan)
                    removed.insert(delegate.key)
                    continue
                }
                try transaction.setDelegate(next)
                changed[delegate.key] = next
                plan.effects.append(.set(next))
            }
            announce(notice.kind, delegate, &plan)
        }
        if later.isEmpty { return }
        plan.answers.append { [intake, later] in _ = intake.submit(LeaseEnds(notices: later)) }
    }

    /// Milliseconds.
    private func lease(of delegate: WebhookDelegate) -> Int64 { Int64(delegate.settings.leaseSeconds ?? 0) * 1_000 }

    private func announce(_ notice: DeliveryNotice.Kind, _ delegate: WebhookDelegate, _ plan: inout WritePlan) {
        let now = clock.wall()
        let event = ServiceFamily.event(notice, delegate, time: now) {
            ids.next("evt_", time: now, of: delegate.app)
        }
        if let event { append(event, &plan) }
    }
}

/// The next step of the removal of delegates whose leases have ended. The loops repeat the notices of those whose step is skipped or
/// refused.
private struct LeaseEnds: StoreCommand {
    let notices: [DeliveryNotice]

    static var admission: CommandAdmission { .single }
    var isStep: Bool { true }

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) { try context.take(notices, transaction, &plan) }
}

extension DeliveryNotice.Kind {
    /// A lease has an age: a step of the clock must not remove the delegate.
    fileprivate var isEndOfLease: Bool { if case .leaseEnded = self { true } else { false } }
}

extension DelegateLifecycle.Cause {
    /// `nil` for a notice about single deliveries, which does not affect the delegate.
    fileprivate init?(_ kind: DeliveryNotice.Kind) {
        switch kind {
        case .failing(let since, _): self = .failing(since: since)
        case .recovered: self = .recovered
        case .disabled(let reason): self = .disabled(reason: reason)
        case .gone: self = .gone
        case .leaseEnded: self = .leaseEnded
        case .verified(let url, let ratePerMinute): self = .verified(url: url, ratePerMinute: ratePerMinute)
        case .notVerified(let reason): self = .notVerified(reason: reason)
        case .refusing, .exhausted, .fellBehind: return nil
        }
    }
}
