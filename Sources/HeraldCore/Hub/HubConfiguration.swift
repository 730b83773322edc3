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
        /// What memory holds of the store.
        package var memory = CommittedState.Limits()
        /// What each delivery loop keeps in memory.
        package var loop = LoopLimits()
        /// The maximum size of one list of events, in bytes. The event that exceeds it is the last one; the cursor continues
        /// behind it.
        package var maxListBytes = 64 << 20
        package var retention = Retention()
        package init() {}
    }
}
