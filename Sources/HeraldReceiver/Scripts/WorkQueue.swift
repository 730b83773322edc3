/// How many requests a path works on at once, and how many may wait for it. A value, filled by directives.
struct WorkLimit: Sendable {
    /// `nil`: all at once.
    var workers: Int?
    var room = Int.max
    /// While more than this wait, each request takes twice as long.
    var strain = Int.max
}

/// Applies a `WorkLimit`: requests are worked on in their order, so the end of each is known when it comes. All times are
/// nanoseconds of one clock.
struct WorkQueue: Sendable {
    private let limit: WorkLimit
    /// When each worker is free.
    private var free: [Int64]
    /// When the work on those that wait begins, in order.
    private var beginnings: [Int64] = []

    /// - Returns: `nil` when there is no limit.
    init?(_ limit: WorkLimit) {
        guard let workers = limit.workers else { return nil }
        self.limit = limit
        free = [Int64](repeating: .min, count: workers)
    }

    /// A request comes.
    /// - Parameter work: how long it takes, in nanoseconds.
    /// - Returns: when it is done; `nil`: there is no room for it.
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
