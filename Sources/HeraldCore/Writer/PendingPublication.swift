import HeraldRuntime

/// Publishes events that are due, the earliest first. Removing them from the schedule and appending them to the log is one
/// deciding transaction, so each is published exactly once. The transaction has no other submissions: an error delays no request.
struct PendingPublication: StoreCommand {
    /// Called when the transaction has failed. The writer's thread.
    let failed: @Sendable () -> Void

    /// The maximum number of events of one transaction.
    private static let events = 500

    static var admission: CommandAdmission { .always }

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        let due = try transaction.duePending(
            at: context.clock.wall(), limit: Self.events, maxBytes: Intake.batchBytes)
        if !due.isEmpty { try transaction.removePending(due.map(\.pending.key)) }
        var taken: [AppKey: PendingCount] = [:]
        for event in due {
            try context.publish(event, transaction, &plan)
            let pending = event.pending.event
            taken[pending.app, default: PendingCount(app: pending.app)].events += 1
            taken[pending.app]?.bytes += Int64(pending.storedBytes)
        }
        for count in taken.values.sorted(by: { $0.app.rawValue < $1.app.rawValue }) {
            try context.countPending(
                count.app, events: -Int(count.events), bytes: -count.bytes, transaction, &plan)
        }
        plan.effects.append(.nextPending(try transaction.nextPending()))
    }

    func refuse(_ refusal: WriteRefusal) { failed() }
}

extension LogWriter {
    /// Publishes the scheduled events that are due, a part of them. One of the nodes that share a store does this.
    func publishPending(_ state: inout State) {
        let pending = committed.pending
        guard pending.total > 0 else { return }
        guard state.cluster.runsMaintenance else { return pending.forgetNext() }
        let now = clock.monotonic()
        if pending.mustRead(now) {
            do throws(StoreError) {
                pending.set(next: try state.reader.get().nextPending())
            } catch {
                state.reader.close()
                return pending.failed(at: now)
            }
        }
        guard pending.isDue(clock.wall(), now) else { return }
        let publication = PendingPublication { [clock] in pending.failed(at: clock.monotonic()) }
        write([.command(publication)], &state)
    }
}
