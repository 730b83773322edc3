import Synchronization

/// Counts for scripts of receivers, and for threads.
package final class Counter: Sendable {
    private let count = Atomic(0)

    package init() {}

    package var value: Int { count.load(ordering: .sequentiallyConsistent) }

    /// 1, 2, 3, …
    @discardableResult
    package func next() -> Int { count.add(1, ordering: .sequentiallyConsistent).newValue }
}
