import HeraldModel
import HeraldRuntime

/// Commits one small row, to find out whether the storage works again when there are no other writes.
struct StorageProbe: StoreCommand {
    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        try transaction.addMark(LogMark(sequence: try transaction.head, time: context.clock.wall()))
    }

    func refuse(_ refusal: HubError) {}
}
