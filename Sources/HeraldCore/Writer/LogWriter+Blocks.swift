import HeraldModel

/// Counts the stored events of each app, inside a transaction.
extension LogWriter {
    /// The last step of a transaction that removed something from blocks, or runs maintenance: stores the counts of these
    /// blocks for the next start.
    func countBlocks(
        _ transaction: any StoreTransaction, _ state: State, _ plan: inout WritePlan
    ) throws(StoreError) {
        // Of full blocks it is known what they had. The events of a block that is not full may be those of this transaction.
        let firstOpen = AppBlock.number(of: state.log.position + 1)
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
        if let filled = plan.filledBlocks, !filled.isEmpty {
            plan.filledBlocks = try state.cluster.uncounted(filled, transaction)
        }
        for block in plan.filledBlocks ?? 0..<0 where !plan.changedBlocks.contains(block) && freed[block] == nil {
            try transaction.keepBlock(block, committed.usage.parts(of: block))
        }
    }
}
