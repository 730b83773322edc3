public import HeraldCore
import HeraldDelivery
import Synchronization

/// The counters of a hub since it was opened, and its queues now: the result of `Hub.metrics()`.
public struct HubMetrics: Equatable, Sendable {
    /// Events that became durable, with those that Herald added.
    public let events: Int
    /// Transactions that were committed.
    public let commits: Int
    /// Transactions that failed.
    public let failedCommits: Int
    /// Events that wait for the disk.
    public let waitingEvents: Int
    /// Their bytes.
    public let waitingBytes: Int
    /// Publications and changes of webhooks that wait for room, because too many events wait for the disk.
    public let waitingWrites: Int
    /// Reads that wait for a thread.
    public let waitingReads: Int
    /// Attempts to call webhooks that succeeded.
    public let deliveries: Int
    /// Attempts that failed.
    public let failedAttempts: Int
    /// Deliveries that used up their retry schedule.
    public let exhausted: Int
    /// The webhooks.
    public let webhooks: Int
    /// Requests that are open.
    public let inFlight: Int
    /// Deliveries that wait for another attempt.
    public let retrying: Int
}

extension Hub {
    /// Returns the counters since the hub was opened, and the current queues. Any thread; cheap. The numbers of webhooks are those of the
    /// last checkpoint.
    public func metrics() -> HubMetrics {
        let (writer, intake) = (writerCounters, intakeDepth)
        let batches = writer.batches.snapshot
        let lanes = laneBoards.flatMap { $0.allEntries.values }
        func attempts(_ meaning: OutcomeMeaning) -> Int { deliveryCounters.reduce(0) { $0 + $1.attempts(meaning) } }
        return HubMetrics(
            events: Int(batches.sum), commits: batches.count,
            failedCommits: writer.failures.load(ordering: .relaxed), waitingEvents: intake.events,
            waitingBytes: intake.bytes, waitingWrites: intake.waiting, waitingReads: readsWaiting,
            deliveries: attempts(.success),
            failedAttempts: OutcomeMeaning.allCases.lazy.filter { $0 != .success }.map(attempts).reduce(0, +),
            exhausted: deliveryCounters.reduce(0) { $0 + $1.gaveUp.load(ordering: .relaxed) },
            webhooks: committed.registry.count,
            inFlight: lanes.reduce(0) { $0 + $1.inFlight }, retrying: lanes.reduce(0) { $0 + $1.retrying })
    }
}
