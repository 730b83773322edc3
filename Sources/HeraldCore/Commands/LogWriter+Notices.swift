import HeraldJSON
import HeraldRuntime

/// What delegates have come to becomes events of the log and changes of the registry, in the transaction of the
/// checkpoint that tells it.
extension LogWriter {
    func take(
        _ notices: [DeliveryNotice], _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        // The registry has what is committed; one delegate may have several notices.
        var changed: [DelegateKey: WebhookDelegate] = [:]
        var removed: Set<DelegateKey> = []
        for notice in notices where !removed.contains(notice.delegate) {
            guard let delegate = changed[notice.delegate] ?? registry.delegate(key: notice.delegate) else { continue }
            if case .leaseEnded = notice.kind {
                guard let end = delegate.state.expiresAt, end <= clock.wall() else { continue }
                try transaction.removeDelegate(delegate.key, at: clock.wall())
                announce(.expired(end), delegate, &plan)
                plan.effects.append(.remove([delegate]))
                removed.insert(delegate.key)
                continue
            }
            guard let state = delegate.state.after(notice.kind) else { continue }
            if state != delegate.state {
                let next =
                    state.status == delegate.status && state.statusReason == delegate.state.statusReason
                    ? delegate.observed(state) : delegate.changed(to: state, at: clock.wall())
                try transaction.setDelegate(next)
                changed[delegate.key] = next
                plan.effects.append(.set(next))
            }
            if let announcement = ServiceFamily.Announcement(notice.kind, delegate) {
                announce(announcement, delegate, &plan)
            }
        }
    }

    private func announce(
        _ announcement: ServiceFamily.Announcement, _ delegate: WebhookDelegate, _ plan: inout Plan
    ) {
        let now = clock.wall()
        let id = ids.next("evt_", time: now, of: delegate.app)
        append(ServiceFamily.event(announcement, delegate, id: id, time: now), &plan)
    }
}

extension WebhookDelegate.State {
    /// What follows from a notice; `nil`: it is no news, or comes too late.
    fileprivate func after(_ kind: DeliveryNotice.Kind) -> Self? {
        var state = self
        switch kind {
        case .failing(let since, _):
            guard failingSince == nil else { return nil }
            state.failingSince = since
        case .recovered:
            guard failingSince != nil else { return nil }
            state.failingSince = nil
        case .disabled(let reason):
            guard status == .active else { return nil }
            state.status = .disabled
            state.statusReason = reason
        case .gone:
            guard status != .gone else { return nil }
            state.status = .gone
            state.statusReason = "the receiver answered 410 Gone"
            state.failingSince = nil
        case .verified(let url, let ratePerMinute):
            guard status == .pendingVerification, settings.url == url else { return nil }
            state.status = .active
            state.statusReason = nil
            if let ratePerMinute {
                // 10,000 a second is as much as can be asked for.
                state.settings.rateLimit = min(settings.rateLimit ?? 10_000, Double(ratePerMinute) / 60)
            }
        case .notVerified(let reason):
            guard status == .pendingVerification else { return nil }
            state.statusReason = reason
        case .leaseEnded, .exhausted, .fellBehind: break
        }
        return state
    }
}
