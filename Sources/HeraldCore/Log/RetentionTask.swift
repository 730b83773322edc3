import HeraldRuntime
import Synchronization

/// Periodically determines on a reader's thread which events exceed the retention, and has the writer remove them.
final class RetentionTask: Sendable {
    /// Nanoseconds between two runs.
    static let interval: Int64 = 10_000_000_000
    /// The minimum number of events removed to reduce the size, so that a run is worthwhile, but beyond the excess no
    /// more than a tenth of the log: if events are large, the log may have only a few hundred.
    private static let leastEvents: Int64 = 500

    private let retention: Hub.Retention
    private let readers: ReaderPool
    private let intake: Intake
    private let clock: Clock

    init(_ retention: Hub.Retention, readers: ReaderPool, intake: Intake, clock: Clock) {
        self.retention = retention
        self.readers = readers
        self.intake = intake
        self.clock = clock
    }

    /// Any thread. If too many reads wait, the next run does the work.
    @Sendable
    func look() {
        _ = readers.submit { [self] reader in
            guard let limits = try? limits(reader.get()) else { return }
            _ = intake.submit(limits)
        }
    }

    private func limits(_ reader: any StoreReader) throws(StoreError) -> TrimWrite {
        let now = clock.wall()
        var events: LogPosition = 0
        var cause = Removal.Cause.age
        if let age = retention.events { events = try reader.lastEvent(before: now - age) }
        if let bytes = retention.bytes {
            let size = try reader.size()
            let first = try reader.firstEvent()
            let count = max(1, try reader.lastEvent() - first + 1)
            if size > bytes {
                let share = Double(size - bytes) / Double(size)
                let least = min(Self.leastEvents, max(1, count / 10))
                let end = first - 1 + max(least, Int64((share * Double(count)).rounded(.up)))
                if end > events { (events, cause) = (end, .size) }
            }
        }
        return TrimWrite(
            events: events, attempts: retention.attempts.map { now - $0 } ?? 0,
            statistics: now - DeliveryStatistics.lifetime, cause: cause)
    }
}
