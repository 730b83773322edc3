import Synchronization

/// An event store in memory: its content ends with the process. For tests, and for hubs whose events need not survive.
/// It removes nothing by itself.
///
/// A transaction collects its changes and applies them together at its end, so that readers see all or none of them,
/// and a thrown error leaves nothing behind. The lock is held while they are applied, and during each read.
package final class MemoryStore: EventStore {
    private let contents = Mutex(MemoryContents())

    /// Always empty: memory is not checked for damage.
    package let damagedEvents = DamagedEvents()

    package init() {}

    /// May be called again, and then returns the state that a restart would find.
    package func recover() throws(StoreError) -> Recovery {
        contents.withLock { $0.recovery() }
    }

    package func transaction(_ body: (any StoreTransaction) throws(StoreError) -> Void) throws(StoreError) {
        let transaction = MemoryTransaction(self)
        try body(transaction)
        contents.withLock { contents in
            for change in transaction.changes { change(&contents) }
        }
    }

    package func makeReader() -> any StoreReader { MemoryReader(self) }

    package func health() {}

    package func close() {}

    func read<Value: Sendable>(_ body: (inout sending MemoryContents) -> sending Value) -> Value {
        contents.withLock(body)
    }
}
