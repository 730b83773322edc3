import HeraldDelivery
import HeraldJSON
import HeraldModel
import HeraldRuntime
import Synchronization

/// Periodically reads on a reader's thread which events exceed the retention (`RetentionPlanner`), and has the loops and the
/// writer remove it.
final class RetentionTask: EventDelegate {
    /// One check in so many, while nothing is written: time alone makes events old.
    private static let idleLooks = 4
    /// The least size of an event on disk besides its data, in bytes.
    private static let eventBytes = 200

    private struct State {
        var planner: RetentionPlanner
        /// A check, or the removal that follows it, is under way.
        var isBusy = false
        /// Much was written during the current step: check again after it.
        var isDue = false
        /// Calls since something was written.
        var idleCalls = 0
    }

    /// The bytes of one budget that were written since the last check. The writer's thread.
    private struct Growth: ~Copyable {
        private let bytes = Atomic<Int>(0)
        /// The bytes after which to check: a fiftieth of the budget, so that it can't be exceeded far.
        private let step: Int

        init(budget: Int64?) { step = budget.map { Int(clamping: $0 / 50) } ?? .max }

        /// - Returns: whether it is time to check.
        borrowing func add(_ more: Int) -> Bool {
            let sum = bytes.load(ordering: .relaxed) + more
            bytes.store(sum < step ? sum : 0, ordering: .relaxed)
            return sum >= step
        }
    }

    private let state: Mutex<State>
    private let events: Growth
    private let attempts: Growth
    /// Something was written since the last call.
    private let hasGrown = Atomic<Bool>(true)
    private let attemptRoom: AttemptRoom
    /// Whether events have an age before which the size may remove them.
    private let hasAge: Bool
    private let health: StorageHealth
    private let readers: ReaderPool
    private let intake: Intake
    private let committed: CommittedState
    private let clock: Clock
    private let ages: AgeClock
    private let missedPulls = MissedPulls()
    /// Sends a message to all delivery loops.
    private let send: @Sendable (LoopMessage) -> Void

    init(
        _ retention: Retention, readers: ReaderPool, intake: Intake, committed: CommittedState,
        attemptRoom: AttemptRoom, health: StorageHealth = StorageHealth(), clock: Clock, lastMark: LogMark? = nil,
        send: @escaping @Sendable (LoopMessage) -> Void
    ) {
        state = Mutex(State(planner: RetentionPlanner(retention)))
        events = Growth(budget: retention.bytes)
        attempts = Growth(budget: retention.attemptBytes)
        hasAge = retention.events != nil
        self.attemptRoom = attemptRoom
        self.health = health
        self.readers = readers
        self.intake = intake
        self.committed = committed
        self.clock = clock
        ages = AgeClock(clock, lastMark: lastMark?.time)
        self.send = send
    }

    func published(_ batch: EventBatch) {
        hasGrown.store(true, ordering: .relaxed)
        if events.add(batch.events.reduce(0) { $0 + Self.eventBytes + $1.data.count }) { run() }
    }

    /// Attempts are durable. The writer's thread.
    func recorded(attemptBytes: Int) {
        hasGrown.store(true, ordering: .relaxed)
        if attempts.add(attemptBytes) { run() }
    }

    /// Called once a second, by `DeliveryEngine`. Any thread.
    /// - Parameter isResponsible: whether this node removes what is too old. Every node ends the deliveries of its own lanes.
    func runWhenDue(isResponsible: Bool = true) {
        // A step of the clock is noticed when it happens.
        _ = ages.now(forAge: 0)
        announceMissedPulls()
        if !isResponsible { attemptRoom.forget() }
        let hasGrown = hasGrown.exchange(false, ordering: .relaxed)
        let isDue = state.withLock { state in
            state.idleCalls = hasGrown ? 0 : state.idleCalls + 1
            return state.idleCalls % Self.idleLooks == 0
        }
        guard isDue else { return }
        if isResponsible { return run() }
        // While another check is under way, this would request a removal after it.
        if state.withLock({ !$0.isBusy }) { submit { [self] in endDeliveries($0) } }
    }

    /// Any thread. If too many reads wait, the next call does the work.
    private func run() { submit { [self] in run($0) } }

    private func submit(_ body: @escaping @Sendable (Result<any StoreReader, StoreError>) -> Void) {
        let isFree = state.withLock { state in
            state.isDue = state.isBusy
            state.isBusy = true
            return !state.isDue
        }
        if isFree, !readers.submit(app: nil, body) { ended() }
    }

    private func context(_ reader: any StoreReader) -> RetentionPlanner.Context {
        .init(
            reader: reader, selection: { [committed] in committed.registry.delegate(key: $0)?.selection },
            stored: committed.usage.total, now: clock.monotonic() / 1_000_000,
            end: { [ages] in ages.now(forAge: $0) - $0 })
    }

    /// Ends the deliveries of events that are too old, on a node that leaves their removal to another one.
    private func endDeliveries(_ reader: Result<any StoreReader, StoreError>) {
        // Only the check that is under way uses it.
        var planner = state.withLock { $0.planner }
        let found = readers.found(reader) { reader throws(StoreError) -> RetentionPlanner.Ending? in
            try planner.nextEnding(context(reader))
        }
        guard let found else { return ended() }
        state.withLock { [planner] in $0.planner = planner }
        if let ending = found { send(.trim(through: ending.through, gone: ending.gone, ending.cause)) }
        ended()
    }

    private func run(_ reader: Result<any StoreReader, StoreError>) {
        // Only the check that is under way uses it.
        var planner = state.withLock { $0.planner }
        let recorded = attemptRoom.recorded
        guard
            let step = readers.found(
                reader,
                { reader throws(StoreError) in try planner.next(context(reader)) })
        else { return ended() }
        state.withLock { [planner] in $0.planner = planner }
        if let left = step.attemptRoom { attemptRoom.measured(left, before: recorded) }
        if let ending = step.ending {
            send(.trim(through: ending.through, gone: ending.gone, ending.cause))
            trimPulls(ending, reader)
        }
        guard var write = step.write else {
            return ended(continues: step.isPartial)
        }
        if hasAge, write.cause == .size, !write.events.isEmpty { reportLargest() }
        let mayContinue = step.isPartial || !write.events.isEmpty
        write.completion = { [weak self] succeeded in self?.ended(succeeded: succeeded, continues: mayContinue) }
        if intake.submit(write) != nil { ended(succeeded: false) }
    }

    /// The oldest events go, whichever app they belong to: an app that stores much shortens the time for which the events of the
    /// others are kept.
    private func reportLargest() {
        health.crowded(at: clock.monotonic()) {
            let total = committed.usage.total.bytes
            guard let (key, bytes) = committed.usage.largest, bytes < total, let app = committed.apps[key] else {
                return nil
            }
            return (app, bytes, total)
        }
    }

    // MARK: Pull delegates

    /// Announces what pull delegates of taken shards have missed, and the process that counted it did not announce. Any thread.
    func restore(_ lanes: LaneRecovery, _ delegates: [WebhookDelegate]) {
        for delegate in delegates where delegate.settings.kind == .pull && lanes.unannounced[delegate.key] != nil {
            missedPulls.restore(delegate.key)
        }
    }

    /// Announces what still waits for its minute. Called before the writer ends.
    func stop() {
        missedPulls.endMinutes()
        announceMissedPulls()
    }

    private func announceMissedPulls() {
        let unannounced = missedPulls.due(at: clock.monotonic())
        if !unannounced.isEmpty { submit(unannounced.map { .init(delegate: $0, wanted: []) }, through: 0, .age) }
    }

    /// No loop has their lanes.
    private func trimPulls(_ ending: RetentionPlanner.Ending, _ reader: Result<any StoreReader, StoreError>) {
        // For the filters of all delegates together. Once it is exhausted, all of them match: the numbers are upper bounds.
        var budget = WorkBudget()
        let gone = Dictionary(grouping: ending.gone, by: \.event.app)
        let parts = committed.registry.pulls.compactMap { delegate -> PullTrim.Part? in
            let found = readers.found(reader) { reader throws(StoreError) -> LanePosition? in
                guard let lane = try reader.lane(of: delegate.key) else { return nil }
                let rows = StoredRowsQuery(delegate: delegate.key, part: .events(0...ending.through), limit: 1)
                if lane.cursor >= ending.through, try reader.rows(rows).isEmpty { return nil }
                return lane
            }
            guard let lane = found.flatMap({ $0 }) else { return nil }
            let unread = (gone[delegate.app] ?? []).filter { $0.sequence > lane.position }
            return PullTrim.Part(
                delegate: delegate.key, wanted: Self.wanted(unread, by: delegate.selection, &budget))
        }
        if !parts.isEmpty { submit(parts, through: ending.through, ending.cause) }
    }

    /// The positions of the events that match, at most.
    /// - Parameter budget: if it is exhausted, the filter matches all events.
    static func wanted(
        _ events: [LoggedEvent], by selection: EventSelection, _ budget: inout WorkBudget
    ) -> [LogPosition] {
        var wanted: [LogPosition] = []
        for logged in events {
            let view = EventView(logged.event, within: budget)
            if selection.matches(view) { wanted.append(logged.sequence) }
            budget = view.budget
        }
        return wanted
    }

    /// The next check repeats one that is refused.
    private func submit(_ parts: [PullTrim.Part], through position: LogPosition, _ cause: Removal.Cause) {
        _ = intake.submit(
            PullTrim(
                parts: parts, through: position, cause: cause, announcements: missedPulls,
                unreadable: { [health, clock] error in health.requestFailed(error, at: clock.monotonic()) }))
    }

    /// - Parameter continues: there may be more to remove.
    private func ended(succeeded: Bool = true, continues: Bool = false) {
        let runsAgain = state.withLock { state in
            state.isBusy = false
            if !succeeded { state.planner.failed() }
            return succeeded && (continues || state.isDue)
        }
        if runsAgain { run() }
    }
}
