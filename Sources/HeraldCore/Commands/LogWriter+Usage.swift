/// What each app has in the log is counted, inside a transaction.
extension LogWriter {
    /// Whether an app may store more: bytes that this transaction adds included.
    func refusal(of publication: Publication, _ plan: Plan) -> WriteRefusal? {
        guard apps.limitsBytes, let limit = apps[publication.app]?.settings.maxStoredBytes else { return nil }
        let more = publication.drafts.reduce(0) { $0 + $1.event.storedBytes }
        let used = usage.total(of: publication.app).bytes + plan.added[publication.app, default: 0]
        return used + Int64(more) > limit ? .quotaExceeded(limit: limit) : nil
    }

    /// The last step of a transaction: what is in the blocks that it has filled, or taken something from, is kept for the
    /// next start.
    func countBlocks(_ transaction: any StoreTransaction, _ plan: inout Plan) throws(StoreError) {
        for block in plan.changedBlocks.sorted() {
            plan.effects.append(.counted(block: block, try transaction.countBlock(block)))
        }
        guard let first = plan.first else { return }
        let filled = AppBlock.number(of: first)..<AppBlock.number(of: plan.head + 1)
        for block in filled where !plan.changedBlocks.contains(block) {
            let parts = usage.parts(of: block, with: EventBatch(first: first, events: plan.events))
            try transaction.keepBlock(block, parts)
        }
    }
}
