/// Adds counts of events and attempts to those of the store, a slice in each transaction.
struct VolumeWrite: StoreCommand {
    var volumes: [Volume]
    /// Called once all are written, with `true`, or when a transaction has failed. Must not wait.
    let completion: @Sendable (Bool) -> Void

    /// The number of rows of one transaction.
    private static let slice = 100

    static var admission: CommandAdmission { .always }

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        try transaction.add(Array(volumes.prefix(Self.slice)))
        var rest = self
        rest.volumes.removeFirst(min(Self.slice, volumes.count))
        plan.answers.append { [rest, intake = context.intake] in
            if rest.volumes.isEmpty { return rest.completion(true) }
            // The counts of the rest are lost.
            if intake.submit(rest) != nil { rest.completion(true) }
        }
    }

    func refuse(_ refusal: WriteRefusal) { completion(false) }
}
