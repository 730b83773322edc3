import HeraldModel

/// A connection for reading that is opened when it is needed. One thread.
final class LazyReader {
    private let store: any EventStore
    private var reader: (any StoreReader)?

    init(_ store: any EventStore) { self.store = store }

    func get() throws(StoreError) -> any StoreReader {
        if let reader { return reader }
        let opened = try store.makeReader()
        reader = opened
        return opened
    }

    /// The next call of `get` opens another one.
    func close() { reader = nil }
}
