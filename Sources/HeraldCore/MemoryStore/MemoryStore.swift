import Synchronization

/// The event store without a disk: everything is gone when the process is. For tests, and for hubs whose events need not
/// outlive them. It never forgets on its own.
///
/// A transaction collects its changes and applies them together at its end, so that readers see all of it or nothing,
/// and a thrown error leaves nothing behind. The lock is held while they are applied, and for each read.
package final class MemoryStore: EventStore {
    private let contents = Mutex(MemoryContents())

    /// Memory is believed.
    package let damagedEvents = DamagedEvents()

    package init() {}

    /// May be called again, and then tells what a restart would find, could it survive one.
    package func recover() throws(StoreError) -> Recovery {
        contents.withLock { $0.recovery() }
    }

    @discardableResult
    package func transaction(
        _ body: (any StoreTransaction) throws(StoreError) -> Void
    ) throws(StoreError) -> DatabaseCheckpoint {
        let transaction = MemoryTransaction(self)
        try body(transaction)
        contents.withLock { contents in
            for change in transaction.changes { change(&contents) }
        }
        return .notDue
    }

    package func makeReader() -> any StoreReader { MemoryReader(self) }

    package func health() {}

    package func close() {}

    func read<Value: Sendable>(_ body: (inout sending MemoryContents) -> sending Value) -> Value {
        contents.withLock(body)
    }
}
