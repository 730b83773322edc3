/// The sizes of a store on disk, in bytes.
package struct StorageSizes: Equatable, Sendable {
    /// The size of the database without free pages.
    package var used: Int64 = 0
    /// Free pages in the file of the database. They are used again, or given back to the file system.
    package var free: Int64 = 0
    /// The write-ahead log.
    package var log: Int64 = 0
    /// The part of `used` that the history of attempts takes, estimated from a sample.
    package var attempts: Int64 = 0
    /// The ids of the oldest and the newest attempt; 0 if there is none.
    package var firstAttempt: Int64 = 0
    package var lastAttempt: Int64 = 0

    package init() {}

    /// The part of `used` that the events take, with everything else that is not attempts.
    package var events: Int64 { max(0, used - attempts) }
}

/// The position of an event, and how much it stores (`Event.storedBytes`).
package struct EventSize: Equatable, Sendable {
    package let position: LogPosition
    package let bytes: Int
    package init(_ position: LogPosition, bytes: Int) {
        self.position = position
        self.bytes = bytes
    }
}

/// How far deliveries have come, as of the last checkpoint.
package struct DeliveryProgress: Equatable, Sendable {
    /// The positions of all lanes without a row.
    package var settled = SettledPositions(0)
    /// The positions of lanes that are not at the common position.
    package var lanes: [LanePosition] = []
    /// Replays that have not ended.
    package var replays: [Replay] = []
    package init() {}
}

/// The events that a transaction has removed from the log.
package struct RemovedEvents: Equatable, Sendable {
    /// The number of events.
    package let count: Int
    /// The rest of the range begins after it: of the events up to here, those that are left are needed.
    package let through: LogPosition
    /// The first event of the log that is left.
    package let first: LogPosition
    package init(count: Int, through: LogPosition, first: LogPosition) {
        self.count = count
        self.through = through
        self.first = first
    }
}
