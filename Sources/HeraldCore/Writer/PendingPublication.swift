import HeraldModel
import HeraldRuntime

/// Publishes events that are due, those of an app in the order of their times. Removing them from the schedule and appending
/// them to the log is one deciding transaction, so each is published exactly once. The transaction has no other submissions:
/// an error delays no request.
///
/// While more is due than one transaction publishes, the apps take turns. An app with many due events delays those of the
/// others by two transactions, and by one more for each 50 apps with due events and each 1,000 with scheduled events.
struct PendingPublication: StoreCommand {
    let turn: PendingTurn
    /// Called when the transaction has failed. The writer's thread.
    let failed: @Sendable () -> Void
    /// Called after the commit with each row that an event needs and that can't be read. The writer's thread.
    let unreadable: @Sendable (StoreError) -> Void

    /// The maximum number of events of one transaction.
    private static let events = 500
    /// The maximum number of apps whose events one transaction publishes when they take turns.
    private static let appsOfTurn = 50
    /// The maximum number of apps whose next event one transaction reads. The others are read in the next ones.
    private static let maxVisits = 1_000
    /// Milliseconds after which an event is tried again that needs a row which can't be read.
    private static let unreadableDelay: Int64 = 60_000

    func perform(
        _ context: WriteContext, _ transaction: any StoreTransaction, _ plan: inout WritePlan
    ) throws(StoreError) {
        let now = context.clock.wall()
        var turn = turn
        let due: [DueEvent]
        if turn.isByApp {
            due = try Self.take(at: now, &turn, transaction)
        } else {
            due = try transaction.duePending(at: now, limit: Self.events, maxBytes: Intake.batchBytes)
        }
        if !due.isEmpty { try transaction.removePending(due.map(\.pending.key)) }
        var taken: [AppKey: PendingCount] = [:]
        for event in due {
            let pending = event.pending.event
            do throws(StoreError) {
                try context.publish(event, transaction, &plan)
            } catch {
                // A row of its app, such as the status of a user. It holds up no other event.
                guard case .unreadable = error else { throw error }
                try transaction.addPending(pending, dueAt: now + Self.unreadableDelay)
                plan.answers.append { [unreadable] in unreadable(error) }
                continue
            }
            taken[pending.app, default: PendingCount(app: pending.app)].events += 1
            taken[pending.app]?.bytes += Int64(pending.storedBytes)
        }
        for count in taken.values.sorted(by: { $0.app.rawValue < $1.app.rawValue }) {
            try context.countPending(
                count.app, events: -Int(count.events), bytes: -count.bytes, transaction, &plan)
        }
        let next = try transaction.nextPending()
        // A turn that finds nothing is followed by a search over all apps, which also finds events that no count includes.
        turn.isByApp = !due.isEmpty && next.map { $0 <= now } ?? false
        plan.effects.append(.nextPending(next, turn))
    }

    /// The due events of the apps whose turn it is: about as many of each.
    private static func take(
        at now: Int64, _ turn: inout PendingTurn, _ transaction: any StoreTransaction
    ) throws(StoreError) -> [DueEvent] {
        var visited = try transaction.pendingApps(after: turn.last, limit: maxVisits)
        if visited.count < maxVisits {
            let first = try transaction.pendingApps(
                after: AppKey(rawValue: 0), limit: maxVisits - visited.count)
            let before = turn.last.rawValue
            visited += first.prefix { $0.app.rawValue <= before }
        }
        let waiting = visited.filter { $0.dueAt <= now }
        let served = waiting.prefix(appsOfTurn)
        var due: [DueEvent] = []
        var bytes = 0
        for (index, next) in served.enumerated() {
            if due.count >= events || bytes >= Intake.batchBytes { return due }
            let left = served.count - index
            let found = try transaction.duePending(
                of: next.app, at: now, limit: max(1, (events - due.count) / left),
                maxBytes: max(1, (Intake.batchBytes - bytes) / left))
            due += found
            bytes += found.reduce(0) { $0 + $1.pending.event.storedBytes }
            turn.last = next.app
        }
        // All of them had their turn: the next one begins after those that wait for nothing.
        if served.count == waiting.count, let last = visited.last { turn.last = last.app }
        return due
    }

    func refuse(_ refusal: HubError) { failed() }
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
                health.readFailed(error, at: now)
                return pending.failed(at: now)
            }
        }
        guard pending.isDue(clock.wall(), now) else { return }
        let publication = PendingPublication(
            turn: pending.turn, failed: { [clock] in pending.failed(at: clock.monotonic()) },
            unreadable: { [clock, health] error in health.requestFailed(error, at: clock.monotonic()) })
        write([.command(publication)], &state)
    }
}
