import Runtime

/// Delegates are registered, changed and removed, inside a transaction.
extension LogWriter {
    func change(
        _ write: RegistryWrite, _ transaction: any StoreTransaction, _ state: State, _ plan: inout Plan
    ) throws(StoreError) {
        let completion = write.completion
        if let idempotency = write.idempotency,
            let result: WriteResult<RegistryWrite.Outcome> = try earlier(idempotency.key, write.app, transaction)
        {
            plan.answers.append { completion(result) }
            return
        }
        let head = plan.first.map { $0 + Sequence(plan.events.count) - 1 } ?? state.head
        let now = clock.wall()
        let (outcome, effect) = registry.decide(
            write, .init(key: state.nextDelegateKey, start: head, time: now) { [ids] in ids.next("dlg_", time: now) })
        switch effect {
        case .set(let delegate):
            try transaction.setDelegate(delegate)
            if case .registered = outcome { try transaction.write(Self.firstRow(of: delegate)) }
        case .remove(let delegates):
            for delegate in delegates { try transaction.removeDelegate(delegate.key, at: now) }
        case nil: break
        }
        plan.effect = effect
        if let idempotency = write.idempotency, let answer = idempotency.answer(outcome) {
            try remember(answer, idempotency.key, write.app, transaction)
        }
        plan.answers.append { completion(.done(outcome)) }
    }

    /// A lane has a row until its loop has written a checkpoint that knows it: a common position from before must not
    /// count for it.
    private static func firstRow(of delegate: WebhookDelegate) -> Checkpoint {
        var checkpoint = Checkpoint()
        checkpoint.lanes = [LanePosition(delegate: delegate.key, cursor: delegate.start, position: delegate.start)]
        return checkpoint
    }
}
