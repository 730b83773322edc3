extension Hub {
    /// How much of everything.
    public struct Configuration: Sendable {
        /// Threads that deliver.
        public var deliveryLoops = 1
        /// Threads that read the store.
        public var readers = 2
        /// What may wait for the disk, before publishers are told to come back.
        public var maxWaitingEvents = 20_000
        public var maxWaitingBytes = 64 << 20
        /// The recent events in memory.
        public var maxRecentEvents = 16_384
        public var maxRecentBytes = 32 << 20
        public var retention = Retention()
        public init() {}
    }

    /// How long the log is kept.
    public struct Retention: Sendable {
        /// Milliseconds, ≥ 60,000; `nil`: without limit.
        public var events: Int64? = 7 * 86_400_000
        public var attempts: Int64? = 7 * 86_400_000
        /// Bytes on disk past which the oldest events go, however young they are; `nil`: without limit.
        public var bytes: Int64?
        public init() {}
    }
}
