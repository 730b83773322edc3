import Synchronization

/// Counts for scripts of receivers.
final class Counter: Sendable {
    private let value = Atomic(0)
    /// 1, 2, 3, …
    func next() -> Int { value.add(1, ordering: .relaxed).newValue }
}
