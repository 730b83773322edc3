extension Hub {
    /// How much of everything.
    package struct Configuration: Sendable {
        /// Threads that deliver.
        package var deliveryLoops = 1
        /// Threads that read the store.
        package var readers = 2
        /// What may wait for the disk, before publishers are told to come back.
        package var maxWaitingEvents = 20_000
        package var maxWaitingBytes = 64 << 20
        /// The recent events in memory.
        package var maxRecentEvents = 16_384
        package var maxRecentBytes = 32 << 20
        package var retention = Retention()
        package init() {}
    }

    /// How long the log is kept.
    package struct Retention: Sendable {
        /// Milliseconds, ≥ 60,000; `nil`: without limit.
        package var events: Int64? = 7 * 86_400_000
        package var attempts: Int64? = 7 * 86_400_000
        /// Bytes on disk past which the oldest events go, however young they are; `nil`: without limit.
        package var bytes: Int64?
        package init() {}
    }
}
