/// The probes of one loop, so that those of many open lanes spread over time. Pure; times are monotonic nanoseconds.
struct ProbeCalendar {
    private static let second: Int64 = 1_000_000_000
    private static let fewest = 10
    /// With pauses of up to a minute, half of it on average, the probes of so many lanes make one a second.
    private static let lanesPerProbe = 30

    /// Open lanes of the loop.
    var openLanes = 0
    /// Probes that were planned, by the second.
    private var planned: [Int64: Int] = [:]
    /// How many seconds are kept before those that have passed are removed.
    private var cleanAt = 256

    /// The first time from then on that is free: the same moment of a later second when the wanted one is full.
    mutating func reserve(_ time: Int64, now: Int64) -> Int64 {
        if planned.count >= cleanAt {
            planned = planned.filter { $0.key >= now / Self.second }
            cleanAt = max(256, 2 * planned.count)
        }
        let limit = max(Self.fewest, openLanes / Self.lanesPerProbe)
        var time = time
        while planned[time / Self.second, default: 0] >= limit { time += Self.second }
        planned[time / Self.second, default: 0] += 1
        return time
    }
}
