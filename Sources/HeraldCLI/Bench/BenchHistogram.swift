/// Counts durations with an error of at most 1.6 %: 64 buckets for each power of two. One thread.
struct BenchHistogram: Sendable {
    private(set) var count = 0
    /// Microseconds.
    private(set) var max: Int64 = 0
    private var buckets = [Int](repeating: 0, count: 64 * 32)

    /// - Parameter microseconds: clamped to 19 hours.
    mutating func add(_ microseconds: Int64) {
        let value = min(Swift.max(0, microseconds), 1 << 36)
        // Up to 127, each value has a bucket of its own; larger values are grouped by their upper 7 bits.
        let shift = Swift.max(0, 63 - (value | 1).leadingZeroBitCount - 6)
        buckets[shift * 64 + Int(value >> Int64(shift))] += 1
        count += 1
        max = Swift.max(max, value)
    }

    mutating func add(_ other: BenchHistogram) {
        for bucket in buckets.indices { buckets[bucket] += other.buckets[bucket] }
        count += other.count
        max = Swift.max(max, other.max)
    }

    /// The time that this fraction did not exceed, in microseconds; 0 if there are none.
    /// - Parameter part: 0 to 1.
    func percentile(_ part: Double) -> Int64 {
        let rank = Swift.max(1, Int((part * Double(count)).rounded(.up)))
        var seen = 0
        for bucket in buckets.indices {
            seen += buckets[bucket]
            guard seen >= rank else { continue }
            let shift = Swift.max(0, bucket / 64 - 1)
            return min(max, (Int64(bucket - shift * 64 + 1) << Int64(shift)) - 1)
        }
        return max
    }
}
