public import HeraldCore
import HeraldDelivery
import Synchronization

/// The counters of a hub since it was opened, and its queues now: the result of `Hub.metrics()`.
public struct HubMetrics: Equatable, Sendable {
    /// Events that became durable, with those that Herald added.
    public let events: Int
    /// Events that wait for the disk.
    public let waitingEvents: Int
    /// Reads that wait for a thread: `readerThreads` of `Hub.Options`.
    public let waitingReads: Int
    /// Attempts to call webhooks that succeeded.
    public let deliveries: Int
    /// Attempts that failed.
    public let failedAttempts: Int
    /// Deliveries that used up their retry schedule.
    public let exhausted: Int
    /// Requests that are open.
    public let inFlight: Int
    /// Deliveries that wait for another attempt.
    public let retrying: Int
}

extension Hub {
    /// Returns the counters since the hub was opened, and the current queues. Any thread; cheap. The open requests and the retries are those
    /// of the last checkpoint.
    public func metrics() -> HubMetrics {
        let lanes = laneBoards.flatMap { $0.allEntries.values }
        func attempts(_ meaning: OutcomeMeaning) -> Int { deliveryCounters.reduce(0) { $0 + $1.attempts(meaning) } }
        return HubMetrics(
            events: Int(writerCounters.batches.snapshot.sum), waitingEvents: intakeDepth.events,
            waitingReads: readsWaiting, deliveries: attempts(.success),
            failedAttempts: OutcomeMeaning.allCases.lazy.filter { $0 != .success }.map(attempts).reduce(0, +),
            exhausted: deliveryCounters.reduce(0) { $0 + $1.gaveUp.load(ordering: .relaxed) },
            inFlight: lanes.reduce(0) { $0 + $1.inFlight }, retrying: lanes.reduce(0) { $0 + $1.retrying })
    }
}
