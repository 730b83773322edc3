/// How many requests a path processes at once, and how many may wait. A value, filled by directives.
struct WorkLimit: Sendable {
    /// `nil` for no limit.
    var workers: Int?
    var room = Int.max
    /// While more requests than this wait, each takes twice as long.
    var strain = Int.max
}

/// Applies a `WorkLimit`: requests are processed in order, so the end of each is known in advance. All times are
/// nanoseconds of one clock.
struct WorkQueue: Sendable {
    private let limit: WorkLimit
    /// When each worker becomes free.
    private var free: [Int64]
    /// When the processing of waiting requests starts, in order.
    private var beginnings: [Int64] = []

    /// - Returns: `nil` without a limit.
    init?(_ limit: WorkLimit) {
        guard let workers = limit.workers else { return nil }
        self.limit = limit
        free = [Int64](repeating: .min, count: workers)
    }

    /// Adds a request.
    /// - Parameter work: its duration, in nanoseconds.
    /// - Returns: when it is complete; `nil` if the queue is full.
    mutating func add(at now: Int64, work: Int64) -> Int64? {
        beginnings.removeAll { $0 <= now }
        guard let worker = free.indices.min(by: { free[$0] < free[$1] }) else { return nil }
        let begins = max(now, free[worker])
        if begins > now {
            guard beginnings.count < limit.room else { return nil }
            beginnings.append(begins)
        }
        free[worker] = begins + (beginnings.count > limit.strain ? 2 * work : work)
        return free[worker]
    }
}
