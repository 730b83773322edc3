/// Removes what this process has recorded of events after another process had erased them, and before it knew.
struct ErasureEnd: StoreCommand {
    let events: [LogPosition]

    static var admission: CommandAdmission { .always }

    func perform(
        _ writer: LogWriter, _ transaction: any StoreTransaction, _ plan: inout LogWriter.Plan
    ) throws(StoreError) {
        _ = try transaction.erase(events)
    }

    func refuse(_ refusal: WriteRefusal) {}
}
