import HeraldDelivery
import HeraldModel

/// Counts the stored events of each app, inside a transaction.
extension LogWriter {
    /// The last step of a transaction that removed something from blocks, or runs maintenance: stores the counts of these
    /// blocks for the next start.
    func countBlocks(
        _ transaction: any StoreTransaction, _ state: State, _ plan: inout WritePlan
    ) throws(StoreError) {
        // Most transactions only append.
        if plan.freed.isEmpty, plan.changedBlocks.isEmpty, plan.filledBlocks == nil { return }
        // Of full blocks it is known what they had. The events of a block that is not full may be those of this transaction.
        let firstOpen = AppBlock.number(of: state.log.position + 1)
        let freed = plan.freed.filter { $0.key < firstOpen && !plan.changedBlocks.contains($0.key) }
        plan.changedBlocks.formUnion(plan.freed.keys.filter { $0 >= firstOpen })
        for block in plan.changedBlocks.sorted() {
            let found = try block < firstOpen ? transaction.countBlock(block) : transaction.recountBlock(block)
            plan.effects.append(.counted(block: block, found))
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

    /// Whether a block was changed that this process has not read to its end. The events that it reads later would be counted twice,
    /// so it counts the block later.
    func countsItself(_ effect: WriteEffect, _ state: State) -> Bool {
        guard case .counted(let block, _) = effect, block >= AppBlock.number(of: state.log.position + 1) else {
            return false
        }
        _ = intake.submit(BlockCount(block: block))
        return true
    }
}

/// Counts a block of the log for the memory of this process.
struct BlockCount: StoreCommand {
    let block: Int64

    /// Without submissions that append events after the count.
    var isStep: Bool { true }

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        let (found, head) = (try transaction.recountBlock(block), try transaction.head)
        plan.answers.append { [block, committed = context.committed] in
            // Otherwise the events up to there could not be read, and are counted when they are.
            if committed.recentEvents.head == head { committed.usage.set(block, found) }
        }
    }
}
