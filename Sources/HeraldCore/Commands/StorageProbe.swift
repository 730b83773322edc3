import HeraldRuntime

/// Finds out whether the storage works again while nobody writes: a commit of one small row.
struct StorageProbe: StoreCommand {
    static var admission: CommandAdmission { .always }

    func perform(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError) {
        try transaction.addMark(LogMark(sequence: plan.head, time: writer.clock.wall()))
    }

    func refuse(_ refusal: WriteRefusal) {}
}
