import Synchronization

/// Counts values by their size, since the process started. Any thread; the lock is held for a few instructions.
package final class Histogram: Sendable {
    package struct Snapshot: Sendable {
        /// Upper bounds, ascending.
        package let bounds: [Double]
        /// How many values fell between the bound before and this one, not cumulative; the last has no bound.
        package fileprivate(set) var buckets: [Int]
        package fileprivate(set) var sum = 0.0

        package var count: Int { buckets.reduce(0, +) }
    }

    private let counted: Mutex<Snapshot>

    /// - Parameter bounds: ascending.
    init(bounds: [Double]) {
        counted = Mutex(Snapshot(bounds: bounds, buckets: Array(repeating: 0, count: bounds.count + 1)))
    }

    func count(_ value: Double) {
        counted.withLock { snapshot in
            var bucket = 0
            while bucket < snapshot.bounds.count && value > snapshot.bounds[bucket] { bucket += 1 }
            snapshot.buckets[bucket] += 1
            snapshot.sum += value
        }
    }

    package var snapshot: Snapshot { counted.withLock { $0 } }
}

extension [Histogram.Snapshot] {
    /// All in one; `nil` when there is none.
    /// - Precondition: they have the same bounds.
    package var merged: Histogram.Snapshot? {
        guard var merged = first else { return nil }
        for other in dropFirst() {
            for bucket in merged.buckets.indices { merged.buckets[bucket] += other.buckets[bucket] }
            merged.sum += other.sum
        }
        return merged
    }
}
