package import HeraldModel
package import Synchronization

/// An event store in memory: its content ends with the process. For tests.
/// It removes nothing by itself.
///
/// A transaction collects its changes and applies them together at its end, so that readers see all or none of them,
/// and a thrown error leaves nothing behind. The lock is held while they are applied, and during each read. Several
/// threads may write: a publishing transaction is outdated when another one was committed since it began, and a deciding
/// one keeps all others from committing.
package final class MemoryStore: EventStore {
    private let contents = Mutex(MemoryContents())
    /// Held from what a transaction depends on to its commit. Before `contents`.
    private let order = Mutex(())
    private let observers = Mutex<[@Sendable () -> Bool]>([])

    /// Always empty: memory is not checked for damage.
    package let damagedEvents = DamagedEvents()
    /// A test may record rows.
    package let damagedRows = DamagedRows()

    /// Why no reader can read pages of the log.
    package let pageError = Mutex<StoreError?>(nil)

    /// The number of searches for scheduled events that are due.
    package var dueSearches: Int { searches.load(ordering: .relaxed) }
    private let searches = Atomic(0)
    func countDueSearch() { searches.add(1, ordering: .relaxed) }

    package init() {}

    package var isShared: Bool { true }

    package func observe(_ notify: @escaping @Sendable () -> Bool) { observers.withLock { $0.append(notify) } }

    /// May be called again, and then returns the state that a restart would find.
    package func recover() throws(StoreError) -> Recovery {
        contents.withLock { $0.recovery() }
    }

    package func recover(_ shards: Shards, maxRows: Int) -> LaneRecovery {
        read { $0.laneRecovery(maxRows: maxRows) }.of(shards)
    }

    package func transaction(
        _ kind: TransactionKind, _ body: (any StoreTransaction) throws(StoreError) -> Void
    ) throws(StoreError) -> Commit {
        if kind == .deciding {
            let commit = try order.withLock { _ throws(StoreError) in
                let transaction = MemoryTransaction(self, kind)
                try body(transaction)
                return apply(transaction)
            }
            notify()
            return commit
        }
        let transaction = MemoryTransaction(self, kind)
        try body(transaction)
        let commit = try order.withLock { _ throws(StoreError) in
            if kind == .publishing, transaction.version != read({ $0.version }) { throw .outdated }
            return apply(transaction)
        }
        if kind == .publishing { notify() }
        return commit
    }

    private func notify() { for notify in observers.withLock({ $0 }) { _ = notify() } }

    private func apply(_ transaction: MemoryTransaction) -> Commit {
        contents.withLock { contents in
            for change in transaction.changes { change(&contents) }
            contents.version += 1
            return Commit(head: contents.head)
        }
    }

    package func makeReader() -> any StoreReader { MemoryReader(self) }

    package func health() {}

    package func close() {}

    package func read<Value: Sendable>(_ body: (inout sending MemoryContents) -> sending Value) -> Value {
        contents.withLock(body)
    }
}
