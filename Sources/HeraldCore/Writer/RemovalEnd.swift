import HeraldModel
import HeraldRuntime

/// Removes the rows that this process has recorded for delegates while another process removed them.
struct RemovalEnd: StoreCommand {
    let delegates: [DelegateKey]

    var isStep: Bool { true }

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        for key in delegates.prefix(WriteContext.removedDelegates) {
            try transaction.removeDelegate(key, at: context.clock.wall())
        }
        let rest = Array(delegates.dropFirst(WriteContext.removedDelegates))
        if rest.isEmpty { return }
        plan.answers.append { [intake = context.intake] in _ = intake.submit(RemovalEnd(delegates: rest)) }
    }
}
