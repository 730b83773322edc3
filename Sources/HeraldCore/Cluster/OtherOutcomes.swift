import HeraldDelivery
import HeraldJSON
import HeraldModel

/// First attempts of other processes that a publisher waits for (`Prefer: wait`). The owners of the delegates record them within a
/// tenth of a second, and they are read from the store. Any thread.
///
/// What is not recorded, such as a delivery that ends without an attempt, the publisher waits for in vain, until his time is up.
final class OtherOutcomes: EventDelegate {
    /// Nanoseconds between two reads for one event.
    private static let interval: Int64 = 100_000_000

    private let shards: ShardCounts
    private let committed: CommittedState
    private let readers: ReaderPool
    /// Calls a function after so many nanoseconds.
    private let later: @Sendable (Int64, @escaping @Sendable () -> Void) -> Void

    init(
        shards: ShardCounts, committed: CommittedState, readers: ReaderPool,
        later: @escaping @Sendable (Int64, @escaping @Sendable () -> Void) -> Void
    ) {
        self.shards = shards
        self.committed = committed
        self.readers = readers
        self.later = later
    }

    func published(_ batch: EventBatch) {
        let watches = committed.recentEvents.watches(of: batch)
        if watches.isEmpty { return }
        for (position, event) in zip(batch.first..., batch.events) {
            guard let watch = watches[position] else { continue }
            let isTaken = readers.submit(app: event.app) { [self] _ in
                let missing = delegates(for: event)
                watch.routed(to: missing.count)
                poll(for: missing, event, position, watch)
            }
            if !isTaken { watch.withdraw() }
        }
    }

    /// The webhooks of other processes that get an event now. Beyond the budget of a request, all filters match.
    private func delegates(for event: Event) -> [DelegateKey: WebhookDelegate] {
        let others = Shards.all.subtracting(shards.held)
        let view = EventView(event, within: WorkBudget())
        let found = committed.registry.list(event.app) { delegate in
            delegate.settings.kind == .webhook && others.contains(delegate.key) && delegate.status == .active
                && delegate.state.failingSince == nil && delegate.selection.matches(view)
        }
        return Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0) })
    }

    private func poll(
        for missing: [DelegateKey: WebhookDelegate], _ event: Event, _ position: LogPosition, _ watch: DeliveryWatch
    ) {
        if missing.isEmpty || watch.isOver { return }
        later(Self.interval) { [self] in
            let isTaken = readers.submit(app: event.app) { [self] reader in
                var missing = missing
                // One that fails is as one that finds nothing.
                let attempts = readers.found(reader) { reader throws(StoreError) in
                    try reader.attempts(event: position)
                }
                for attempt in attempts ?? [] where attempt.record.number == 1 {
                    guard let delegate = missing.removeValue(forKey: attempt.record.delegate) else { continue }
                    watch.report(.init(delegate: delegate, event: event, outcome: CallbackOutcome(attempt.record)))
                }
                poll(for: missing, event, position, watch)
            }
            if !isTaken { poll(for: missing, event, position, watch) }
        }
    }
}

extension CallbackOutcome {
    /// As far as it was recorded.
    fileprivate init(_ record: AttemptRecord) {
        let verdict: Verdict =
            if let status = record.status {
                .answered(status: status, retryAfter: nil)
            } else {
                .failed(record.failure ?? .protocolError, detail: record.detail)
            }
        self.init(
            verdict: verdict, duration: record.duration, excerpt: record.excerpt, transport: record.transport)
    }
}
