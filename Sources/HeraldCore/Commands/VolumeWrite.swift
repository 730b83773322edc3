import HeraldModel

/// Adds counts of events and attempts to those of the store, a slice in each transaction.
struct VolumeWrite: StoreCommand {
    var volumes: [Volume]
    /// The first slices of all counters share a transaction.
    var isStep = false
    /// Called once, with the volumes that were not written: none, or the rest when a transaction has failed. Must not wait.
    let completion: @Sendable (_ rest: [Volume]) -> Void

    /// The number of rows of one transaction.
    private static let slice = 100

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        try transaction.add(Array(volumes.prefix(Self.slice)))
        var rest = self
        rest.volumes.removeFirst(min(Self.slice, volumes.count))
        rest.isStep = true
        plan.answers.append { [rest, intake = context.intake] in
            if rest.volumes.isEmpty || intake.submit(rest) != nil { rest.completion(rest.volumes) }
        }
    }

    func refuse(_ refusal: HubError) { completion(volumes) }
}
