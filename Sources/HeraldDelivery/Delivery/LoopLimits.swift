/// The bounds of what one delivery loop keeps in memory.
package struct LoopLimits: Sendable {
    /// The recent events that lanes read without a lock.
    package var recentEvents = 8_192
    package var recentBytes = 16 << 20
    /// The bytes of one page of older events, unless one event is larger. A loop keeps 32 pages, or fewer that have so many
    /// bytes.
    package var pageBytes = 1 << 20
    /// The bodies of large events in open requests.
    package var openBytes = 64 << 20
    /// Attempts that are not written yet. Above it no new attempts start until the writer has taken them.
    package var attempts = 50_000
    /// Attempts of a partial checkpoint, unless there are far more of them.
    package var partSize = CheckpointBuilder.partSize
    /// How often the positions of lanes are written, in nanoseconds; 0 for each time that outcomes are.
    package var positionInterval: Int64 = 0
    /// Deliveries of one delegate that wait for a retry. With this many it gets no new event until one is settled.
    package var waitingDeliveries = 10_000
    package init() {}
}
