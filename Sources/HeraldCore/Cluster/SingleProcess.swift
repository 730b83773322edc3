import HeraldModel

/// The cluster of a store that belongs to one process: there are no changes of others, and all delegates belong to it.
///
/// A loop receives a request for deliveries after its commit, and what it has collected before is committed later. Such a checkpoint
/// must not change the rows that were requested: after a crash, only the store has the request.
final class SingleProcess: Cluster {
    /// The number of transactions with requests.
    private(set) var lastChange: Int64 = 0
    /// The rows that were requested, with the numbers of their last requests, until a checkpoint of their loop includes them.
    private var requests: [DeliveryKey: Request] = [:]
    /// The requests of the transaction that is not committed yet.
    private var uncommitted: [DeliveryKey: Request] = [:]

    private let registry: Registry

    private struct Request {
        let number: Int64
        let isCancellation: Bool
    }

    init(_ registry: Registry) { self.registry = registry }

    var interval: Int32 { .max }
    var runsMaintenance: Bool { true }

    func beforeRound(
        isRequested: Bool, isAwaited: Bool, _ reader: LazyReader, _ apply: ([Change], ChangedRows) -> Void
    ) -> LogPosition? { nil }

    func hasFoundSubmissions() -> Bool { false }

    func shareDelegates() {}

    func beforeDeciding(
        lookingFor name: Int64?, _ reader: LazyReader, _ apply: ([Change], ChangedRows) -> Void
    ) -> Bool { false }

    func record(_ effects: [WriteEffect], _ transaction: any StoreTransaction) -> (head: LogPosition, name: Int64)? {
        uncommitted = requests(among: effects)
        return nil
    }

    func hasDecided() {
        if uncommitted.isEmpty { return }
        lastChange += 1
        requests.merge(uncommitted) { $1 }
        uncommitted = [:]
    }

    private func requests(among effects: [WriteEffect]) -> [DeliveryKey: Request] {
        var found: [DeliveryKey: Request] = [:]
        func add(_ key: DeliveryKey, isCancellation: Bool) {
            // No loop has the rows of a pull delegate.
            if registry.delegate(key: key.delegate)?.settings.kind == .pull { return }
            found[key] = Request(number: lastChange + 1, isCancellation: isCancellation)
        }
        for effect in effects {
            switch effect {
            case .redelivered(let deliveries): for delivery in deliveries { add(delivery.key, isCancellation: false) }
            case .dropped(let deliveries): for key in deliveries { add(key, isCancellation: true) }
            default: break
            }
        }
        return found
    }

    func uncounted(_ filled: Range<Int64>, _ transaction: any StoreTransaction) -> Range<Int64> { filled }

    func owns(_ delegate: DelegateKey) -> Bool { true }

    func own(_ checkpoint: Checkpoint, after effects: [WriteEffect]) -> Checkpoint {
        let known = checkpoint.known == .max ? 0 : checkpoint.known
        // A loop writes all of its shards at times.
        if checkpoint.settled != nil, !requests.isEmpty {
            requests = requests.filter { $1.number > known || !checkpoint.shards.contains($0.delegate) }
        }
        let newer = requests.filter { $1.number > known }.merging(requests(among: effects)) { $1 }
        if newer.isEmpty { return checkpoint }
        let delivered = checkpoint.delivered
        var own = checkpoint
        own.waiting.removeAll { newer[$0.key] != nil }
        own.ended.removeAll { key in newer[key].map { !($0.isCancellation && delivered.contains(key)) } ?? false }
        return own
    }

    func sessionIsLost() {}
}
