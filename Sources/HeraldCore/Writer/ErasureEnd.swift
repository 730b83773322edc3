import HeraldModel

/// Removes what this process has recorded of events after another process had erased them, and before it knew.
struct ErasureEnd: StoreCommand {
    let events: [LogPosition]

    var isStep: Bool { true }

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        let rest = try transaction.erase(events, limit: Self.rowsOfStep).rest
        if rest.isEmpty { return }
        plan.answers.append { [intake = context.intake] in _ = intake.submit(ErasureEnd(events: rest)) }
    }
}
