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
        package var retention = Retention()
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
