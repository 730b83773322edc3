/// The results of a delegate's attempts in one time slot.
package struct DeliveryStatistics: Equatable, Sendable {
    /// The length of a slot in milliseconds: twelve make an hour.
    package static let slot: Int64 = 300_000
    /// How long slots are kept, in milliseconds: one day, and the slot in which it begins. Older ones are added to the slots in
    /// which their hours began.
    package static let lifetime: Int64 = 86_400_000 + slot
    /// How much longer the sums of hours are kept: 7 days.
    package static let lifetimeOfHours: Int64 = 7 * 86_400_000
    /// How much older than `lifetime` slots may be to be added: those that a long pause has left stay single.
    package static let lateness: Int64 = 6 * 3_600_000

    /// The largest count that is stored. The sum of all slots of a day, and of all buckets, stays far below `Int.max`.
    package static let maxCount = 1 << 40

    package let delegate: DelegateKey
    /// When the slot begins: milliseconds since 1970 UTC, a multiple of `slot`.
    package let start: Int64
    package var delivered: Int
    package var failed: Int
    /// The durations of successful attempts.
    package var latencies: LatencyHistogram

    package init(
        delegate: DelegateKey, start: Int64, delivered: Int = 0, failed: Int = 0,
        latencies: LatencyHistogram = LatencyHistogram()
    ) {
        self.delegate = delegate
        self.start = start
        self.delivered = delivered
        self.failed = failed
        self.latencies = latencies
    }

    /// - Parameter duration: microseconds.
    package mutating func count(succeeded: Bool, duration: Int64) {
        if succeeded {
            delivered += 1
            latencies.add(microseconds: duration)
        } else {
            failed += 1
        }
    }

    package mutating func add(_ other: DeliveryStatistics) {
        delivered += other.delivered
        failed += other.failed
        latencies.add(other.latencies)
    }
}

/// Durations in buckets of growing width: four for each power of two, so that a percentile is at most 19 % off. Sparse:
/// empty buckets take no memory.
package struct LatencyHistogram: Equatable, Sendable {
    /// Counts by bucket.
    package private(set) var buckets: [UInt8: Int] = [:]

    package init() {}

    /// - Parameter microseconds: ≥ 0.
    package mutating func add(microseconds: Int64) { buckets[Self.bucket(microseconds), default: 0] += 1 }

    package mutating func add(_ other: LatencyHistogram) {
        buckets.merge(other.buckets) { $0 + $1 }
    }

    package var count: Int { buckets.values.reduce(0, +) }

    /// The duration that this share of attempts did not exceed, in microseconds; `nil` if there are none.
    /// - Parameter share: within 0…1; 0.5 is the median.
    package func percentile(_ share: Double) -> Int64? {
        let total = count
        guard total > 0 else { return nil }
        let rank = max(1, Int((share * Double(total)).rounded(.up)))
        var seen = 0
        for (bucket, count) in buckets.sorted(by: { $0.key < $1.key }) {
            seen += count
            if seen >= rank { return Self.upperBound(bucket) }
        }
        return nil
    }

    static func bucket(_ microseconds: Int64) -> UInt8 {
        let value = UInt64(max(0, microseconds))
        guard value >= 4 else { return UInt8(value) }
        let exponent = 63 - value.leadingZeroBitCount
        let quarter = Int(value >> (exponent - 2) & 3)
        return UInt8(clamping: 4 * (exponent - 1) + quarter)
    }

    /// The largest duration of a bucket.
    static func upperBound(_ bucket: UInt8) -> Int64 {
        guard bucket >= 4 else { return Int64(bucket) }
        let exponent = Int(bucket) / 4 + 1
        let quarter = Int64(bucket) % 4
        // The last bucket ends at 2^63 - 1.
        return ((4 + quarter + 1) << (exponent - 2)) &- 1
    }
}

extension LatencyHistogram {
    /// The counts as text, `bucket:count` joined by spaces: the stored form.
    package var text: String {
        buckets.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
    }

    /// `nil` if the text is malformed.
    package init?(text: String) {
        for entry in text.split(separator: " ") {
            let parts = entry.split(separator: ":")
            guard parts.count == 2, let bucket = UInt8(parts[0]), let count = Int(parts[1]),
                bucket <= Self.bucket(.max), (1...DeliveryStatistics.maxCount).contains(count)
            else { return nil }
            buckets[bucket] = count
        }
    }
}
