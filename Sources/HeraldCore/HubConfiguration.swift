extension Hub {
    /// The sizes and limits of a hub.
    package struct Configuration: Sendable {
        /// Threads that deliver.
        package var deliveryLoops = 1
        /// Threads that read the store.
        package var readers = 2
        /// Events that may wait for the disk; beyond it, publishers are refused.
        package var maxWaitingEvents = 20_000
        package var maxWaitingBytes = 64 << 20
        /// The maximum number of recent events in memory.
        package var maxRecentEvents = 16_384
        package var maxRecentBytes = 32 << 20
        /// What each delivery loop keeps in memory.
        package var loop = LoopLimits()
        /// The maximum size of one list of events, in bytes. The event that exceeds it is the last one; the cursor continues
        /// behind it.
        package var maxListBytes = 64 << 20
        /// The maximum size of what is kept of delegates, event types, keys, sessions and apps, in bytes.
        package var maxKeptBytes = 1 << 30
        /// The maximum size of the auth statuses and app states in memory, in bytes; the store has all of them.
        package var maxValueBytes = 24 << 20
        package var retention = Retention()
        package init() {}
    }

    /// What one delivery loop keeps in memory at most.
    package struct LoopLimits: Sendable {
        /// The recent events that lanes read without a lock.
        package var recentEvents = 8_192
        package var recentBytes = 16 << 20
        /// Of one page of older events, of which 32 are kept.
        package var pageBytes = 1 << 20
        /// Attempts that are not written yet. Above it no new attempts start until the writer has taken them.
        package var attempts = 50_000
        /// How often the positions of lanes are written, in nanoseconds; 0 for each time that outcomes are.
        package var positionInterval: Int64 = 0
        /// Deliveries of one delegate that wait for a retry. With this many it gets no new event until one is settled.
        package var waitingDeliveries = 10_000
        package init() {}
    }

    /// How long the log is kept.
    package struct Retention: Sendable {
        /// Milliseconds, ≥ 60,000; `nil` for no limit.
        package var events: Int64? = 7 * 86_400_000
        package var attempts: Int64? = 7 * 86_400_000
        /// The maximum size on disk of the events, with all else but attempts, in bytes; `nil` for no limit.
        package var bytes: Int64?
        /// The maximum size on disk of the attempts in bytes; `nil` for no limit.
        package var attemptBytes: Int64?
        package init() {}
    }
}
