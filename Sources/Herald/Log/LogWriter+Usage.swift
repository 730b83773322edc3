/// What each app has in the log is counted, inside a transaction.
extension LogWriter {
    /// Whether an app may store more: bytes that this transaction adds included.
    func refusal(of publication: Publication, _ plan: Plan) -> WriteRefusal? {
        guard apps.limitsBytes, let limit = apps[publication.app]?.settings.maxStoredBytes else { return nil }
        let more = publication.drafts.reduce(0) { $0 + $1.event.storedBytes }
        let used = usage.total(of: publication.app).bytes + plan.added[publication.app, default: 0]
        return used + Int64(more) > limit ? .tooMuchStored(limit: limit) : nil
    }

    /// The last step of a transaction: blocks that it has filled, or taken something from, are counted for the next start.
    func countBlocks(_ transaction: any StoreTransaction, _ plan: inout Plan) throws(StoreError) {
        var blocks = plan.changedBlocks
        // 0 is in the first block, and no event.
        blocks.formUnion(AppBlock.number(of: plan.headBefore + 1)..<AppBlock.number(of: plan.head + 1))
        for block in blocks.sorted() {
            plan.effects.append(.counted(block: block, try transaction.countBlock(block)))
        }
    }
}
