import HeraldRuntime

/// Delegates are registered, changed and removed, inside a transaction.
extension LogWriter {
    func change(
        _ write: RegistryWrite, _ transaction: any StoreTransaction, _ state: State, _ plan: inout Plan
    ) throws(StoreError) {
        try once(write.idempotency, write.app, transaction, &plan, write.completion) { plan throws(StoreError) in
            let now = clock.wall()
            let (outcome, effect) =
                refusal(of: write)
                ?? registry.decide(
                    write,
                    .init(key: state.nextDelegateKey, start: plan.head, time: now) { [ids] in
                        ids.next("dlg_", time: now)
                    })
            switch effect {
            case .set(let delegate):
                try transaction.setDelegate(delegate)
                if case .registered = outcome {
                    try transaction.write(Self.firstRow(of: delegate))
                    if case .register(let registration) = write.action, registration.replaysCurrentState {
                        try tellCurrentState(to: delegate, transaction, &plan)
                    }
                }
            case .remove(let delegates):
                for delegate in delegates { try transaction.removeDelegate(delegate.key, at: now) }
            default: break
            }
            if let effect { plan.effects.append(effect) }
            switch effect {
            case .set(let delegate): try note(write.provenance, write.app, target: delegate.id, transaction)
            case .remove(let delegates):
                try note(write.provenance, write.app, target: delegates.count == 1 ? delegates[0].id : nil, transaction)
            default: break
            }
            return outcome
        }
    }

    /// An app that was removed meanwhile gets no delegates, and one that has as many as it may no more of them.
    private func refusal(of write: RegistryWrite) -> (RegistryWrite.Outcome, WriteEffect?)? {
        guard case .register(let registration) = write.action else { return nil }
        guard let app = apps[write.app] else { return (.notFound, nil) }
        guard let limit = app.settings.maxDelegates, registry.count(of: write.app) >= limit,
            registry.delegate(write.app, url: registration.settings.url) == nil
        else { return nil }
        return (.tooMany(limit: limit), nil)
    }

    /// Repeats the current app state, and the auth status of the delegate's subjects, as events addressed to it alone.
    private func tellCurrentState(
        to delegate: WebhookDelegate, _ transaction: any StoreTransaction, _ plan: inout Plan
    ) throws(StoreError) {
        let selection = delegate.selection
        func nextID() -> String { ids.next("evt_", time: clock.wall(), of: delegate.app) }
        if selection.includes(type: AppStateFamily.changed), selection.subjectSelection.contains(nil),
            let state = plan.families.appState(delegate.app)
        {
            append(AppStateFamily.current(state, id: nextID(), audience: delegate.key), &plan)
        }
        guard selection.includes(type: AuthFamily.statusChanged) else { return }
        for subject in delegate.settings.subjects where SubjectSelection.prefix(subject) == nil {
            let userID = AuthFamily.userID(ofSubject: subject)
            var status = plan.families.authStatus(delegate.app, userID)
            if status == nil { status = try transaction.authStatus(app: delegate.app, userID: userID) }
            guard let status else { continue }
            append(AuthFamily.current(status, subject: subject, id: nextID(), audience: delegate.key), &plan)
        }
    }

    /// A lane has a row until its loop has written a checkpoint that knows it: a common position from before must not
    /// count for it.
    private static func firstRow(of delegate: WebhookDelegate) -> Checkpoint {
        var checkpoint = Checkpoint()
        checkpoint.lanes = [LanePosition(delegate: delegate.key, cursor: delegate.start, position: delegate.start)]
        return checkpoint
    }
}
