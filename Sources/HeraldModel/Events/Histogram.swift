import Synchronization

/// Counts values by size since the process started. Any thread; the lock is held for a few instructions.
package final class Histogram: Sendable {
    package struct Snapshot: Sendable {
        /// Upper bounds, ascending.
        package let bounds: [Double]
        /// Number of values between the previous bound and this one, not cumulative; the last bucket has no upper
        /// bound.
        package fileprivate(set) var buckets: [Int]
        package fileprivate(set) var sum = 0.0
        /// The last traced value of each bucket; empty if no value was traced.
        package fileprivate(set) var examples: [Example?] = []

        package var count: Int { buckets.reduce(0, +) }
    }

    /// A value whose trace is recorded.
    package struct Example: Sendable {
        package let trace: TraceContext
        package let value: Double
    }

    private let counted: Mutex<Snapshot>

    /// - Parameter bounds: in ascending order.
    package init(bounds: [Double]) {
        counted = Mutex(Snapshot(bounds: bounds, buckets: Array(repeating: 0, count: bounds.count + 1)))
    }

    /// - Parameter trace: of the value, if it is recorded.
    package func count(_ value: Double, trace: TraceContext? = nil) {
        counted.withLock { snapshot in
            var bucket = 0
            while bucket < snapshot.bounds.count && value > snapshot.bounds[bucket] { bucket += 1 }
            snapshot.buckets[bucket] += 1
            snapshot.sum += value
            guard let trace else { return }
            if snapshot.examples.isEmpty {
                snapshot.examples = Array(repeating: nil, count: snapshot.buckets.count)
            }
            snapshot.examples[bucket] = Example(trace: trace, value: value)
        }
    }

    package var snapshot: Snapshot { counted.withLock { $0 } }
}

extension [Histogram.Snapshot] {
    /// The sum of all snapshots; `nil` if there are none.
    /// - Precondition: all snapshots have the same bounds.
    package var merged: Histogram.Snapshot? {
        guard var merged = first else { return nil }
        for other in dropFirst() {
            for bucket in merged.buckets.indices { merged.buckets[bucket] += other.buckets[bucket] }
            merged.sum += other.sum
            if merged.examples.isEmpty {
                merged.examples = other.examples
            } else {
                for (bucket, example) in other.examples.enumerated() where example != nil {
                    merged.examples[bucket] = example
                }
            }
        }
        return merged
    }
}
