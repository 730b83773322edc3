import Synchronization

/// Set once, read by a receiver's script or another thread.
package final class Flag: Sendable {
    private let value = Atomic(false)

    package init() {}

    package var isSet: Bool { value.load(ordering: .sequentiallyConsistent) }
    package func set() { value.store(true, ordering: .sequentiallyConsistent) }
}
