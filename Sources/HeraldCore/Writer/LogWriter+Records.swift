import HeraldRuntime

/// A change is logged in its own transaction: every change has its entry, and there are no entries without a change.
extension LogWriter {
    /// - Parameter target: the id of what was changed; `nil` for all delegates of the app.
    func note(
        _ provenance: Provenance?, _ app: AppKey, target: String?, _ transaction: any StoreTransaction
    ) throws(StoreError) {
        guard let provenance else { return }
        try transaction.addAudit(AuditEntry(provenance, app: app, target: target, time: clock.wall()))
    }
}

/// A repeated request gets its earlier response.
extension LogWriter {
    /// The earlier response to a request with this key, if there is one.
    func earlier<Outcome>(
        _ key: IdempotencyKey, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) -> WriteResult<Outcome>? {
        guard let answer = try transaction.answer(app: app, key: key.key, now: clock.wall()) else { return nil }
        return answer.fingerprint == key.fingerprint ? .replayed(answer) : .refused(.keyReused)
    }

    func remember(
        _ answer: StoredAnswer, _ key: IdempotencyKey, _ app: AppKey, _ transaction: any StoreTransaction
    ) throws(StoreError) {
        try transaction.setAnswer(
            answer, app: app, key: key.key, expiresAt: clock.wall() + IdempotencyKey.lifetime)
    }
}

/// Counting the stored events of each app, inside a transaction.
extension LogWriter {
    /// Why an app may not store more, including the bytes that this transaction adds.
    func refusal(of publication: Publication, _ plan: Plan) -> WriteRefusal? {
        guard committed.apps.limitsBytes, let limit = committed.apps[publication.app]?.settings.maxStoredBytes else {
            return nil
        }
        let more = publication.drafts.reduce(0) { $0 + $1.event.storedBytes }
        let used = committed.usage.total(of: publication.app).bytes + plan.added[publication.app, default: 0]
        return used + Int64(more) > limit ? .quotaExceeded(limit: limit) : nil
    }

    /// The last step of a transaction that removed something from blocks, or keeps house: stores the counts of these
    /// blocks for the next start.
    func countBlocks(
        _ transaction: any StoreTransaction, _ state: State, _ plan: inout Plan
    ) throws(StoreError) {
        // Of full blocks it is known what they had. The events of a block that is not full may be those of this transaction.
        let firstOpen = AppBlock.number(of: state.log.told + 1)
        let freed = plan.freed.filter { $0.key < firstOpen && !plan.changedBlocks.contains($0.key) }
        plan.changedBlocks.formUnion(plan.freed.keys.filter { $0 >= firstOpen })
        for block in plan.changedBlocks.sorted() {
            plan.effects.append(.counted(block: block, try transaction.countBlock(block)))
        }
        for (block, bytes) in freed {
            let parts = committed.usage.parts(of: block).map { part in
                var part = part
                part.bytes -= bytes[part.app] ?? 0
                return part
            }
            try transaction.keepBlock(block, parts)
            plan.effects.append(.counted(block: block, parts))
        }
        // All or none, so that a start finds what is missing behind the last one.
        if !plan.changedBlocks.isEmpty || !freed.isEmpty { plan.filledBlocks = state.filledBlocks }
        if let filled = plan.filledBlocks, !filled.isEmpty, store.isShared {
            let open = try transaction.firstOpenBlock()
            plan.filledBlocks = min(max(filled.lowerBound, open), filled.upperBound)..<filled.upperBound
        }
        for block in plan.filledBlocks ?? 0..<0 where !plan.changedBlocks.contains(block) && freed[block] == nil {
            try transaction.keepBlock(block, committed.usage.parts(of: block))
        }
    }
}
