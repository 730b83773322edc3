package import HeraldDelivery
package import HeraldModel

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
        /// Limits of events that are published in the process. The HTTP server has its own.
        package var publicationLimits = PublicationLimits()
        /// The limits of the state in memory.
        package var memory = CommittedState.Limits()
        /// The memory limits of each delivery loop.
        package var loop = LoopLimits()
        /// The maximum size of one list of events, in bytes. The event that exceeds it is the last one; the cursor continues
        /// behind it.
        package var maxListBytes = 64 << 20
        /// The maximum size of the publications that wait for first attempts, with those of their deliveries, in bytes.
        package var maxAwaitedBytes = 12 << 20
        package var retention = Retention()
        /// Exports traces; `nil` for none.
        package var tracer: (any Tracer)?
        package init() {}
    }
}
