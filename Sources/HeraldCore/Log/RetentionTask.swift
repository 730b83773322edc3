import HeraldRuntime
import Synchronization

/// Periodically looks on a reader's thread at what exceeds the retention (`RetentionPlanner`), and has the loops and the
/// writer remove it.
final class RetentionTask: EventDelegate {
    /// Nanoseconds between two looks, unless much is published.
    static let interval: Int64 = 1_000_000_000
    /// What an event takes at least besides its data, in bytes.
    private static let eventBytes = 200

    private struct State {
        var planner: RetentionPlanner
        /// A look, or the removal that follows it, is under way.
        var isBusy = false
    }

    private let state: Mutex<State>
    /// The bytes that were published since the last look. The writer's thread.
    private let published = Atomic<Int>(0)
    /// The bytes after which to look: a fiftieth of the budget, so that a publisher can't exceed it far.
    private let step: Int
    private let readers: ReaderPool
    private let intake: Intake
    private let registry: Registry
    private let usage: LogUsage
    private let clock: Clock
    /// Sends a message to all delivery loops.
    private let tell: @Sendable (LoopMessage) -> Void

    init(
        _ retention: Hub.Retention, readers: ReaderPool, intake: Intake, registry: Registry, usage: LogUsage,
        clock: Clock, tell: @escaping @Sendable (LoopMessage) -> Void
    ) {
        state = Mutex(State(planner: RetentionPlanner(retention)))
        step = retention.bytes.map { Int(clamping: $0 / 50) } ?? .max
        self.readers = readers
        self.intake = intake
        self.registry = registry
        self.usage = usage
        self.clock = clock
        self.tell = tell
    }

    func published(_ batch: EventBatch) {
        let bytes = batch.events.reduce(published.load(ordering: .relaxed)) { $0 + Self.eventBytes + $1.data.count }
        published.store(bytes < step ? bytes : 0, ordering: .relaxed)
        if bytes >= step { look() }
    }

    /// Any thread. If too many reads wait, the next call does the work.
    @Sendable
    func look() {
        let isFree = state.withLock { state in
            defer { state.isBusy = true }
            return !state.isBusy
        }
        if isFree, !readers.submit({ [self] in run($0) }) { ended() }
    }

    private func run(_ reader: Result<any StoreReader, StoreError>) {
        // Only the look that is under way uses it.
        var planner = state.withLock { $0.planner }
        guard
            let step = try? planner.next(
                .init(
                    reader: reader.get(), selection: { [registry] in registry.delegate(key: $0)?.selection },
                    stored: usage.total, now: clock.wall()))
        else { return ended() }
        state.withLock { [planner] in $0.planner = planner }
        if let ending = step.ending {
            tell(.trim(through: ending.through, gone: ending.gone, ending.cause))
        }
        guard var write = step.write else {
            ended()
            if step.isPartial { look() }
            return
        }
        let mayContinue = step.isPartial || !write.events.isEmpty
        write.completion = { [weak self] succeeded in
            self?.ended(succeeded: succeeded)
            if succeeded, mayContinue { self?.look() }
        }
        if intake.submit(write) != nil { ended() }
    }

    private func ended(succeeded: Bool = true) {
        state.withLock { state in
            state.isBusy = false
            if !succeeded { state.planner.failed() }
        }
    }
}
