import HeraldModel

/// The cluster of a store that belongs to one process: there are no changes of others, and all delegates belong to it.
struct SingleProcess: Cluster {
    var interval: Int32 { .max }
    var runsMaintenance: Bool { true }
    var lastChange: Int64? { nil }

    func beforeRound(
        isRequested: Bool, isAwaited: Bool, _ reader: LazyReader, _ apply: ([Change], ChangedRows) -> Void
    ) -> LogPosition? { nil }

    func hasFoundSubmissions() -> Bool { false }

    func shareDelegates() {}

    func beforeDeciding(
        lookingFor name: Int64?, _ reader: LazyReader, _ apply: ([Change], ChangedRows) -> Void
    ) -> Bool { false }

    func record(_ effects: [WriteEffect], _ transaction: any StoreTransaction) -> (head: LogPosition, name: Int64)? {
        nil
    }

    func hasDecided() {}

    func uncounted(_ filled: Range<Int64>, _ transaction: any StoreTransaction) -> Range<Int64> { filled }

    func owns(_ delegate: DelegateKey) -> Bool { true }

    func own(_ checkpoint: Checkpoint) -> Checkpoint { checkpoint }

    func sessionIsLost() {}
}
