extension Hub {
    /// The sizes and limits of a hub.
    package struct Configuration: Sendable {
        /// Threads that deliver.
        package var deliveryLoops = 1
        /// Threads that read the store.
        package var readers = 2
        /// Events that may wait for the disk; beyond it, publishers wait or are refused.
        package var maxWaitingEvents = 20_000
        package var maxWaitingBytes = 64 << 20
        /// Of events that are published in the process. The HTTP server has its own.
        package var publicationLimits = PublicationLimits()
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
}
