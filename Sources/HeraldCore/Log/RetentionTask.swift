import HeraldRuntime
import Synchronization

/// Finds out from time to time what the log need not keep any longer, on a reader's thread, and has the writer cut it.
final class RetentionTask: Sendable {
    /// Nanoseconds between two looks.
    static let interval: Int64 = 10_000_000_000
    /// A cut for space takes at least so many events, so that it is worth a look, but no more than a tenth of the log beyond what
    /// is too much: of large events, a few hundred are all that there are.
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

    /// Any thread. When too much is read already, the next look does it.
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
        if let age = retention.events { events = try reader.lastEvent(before: now - age) }
        if let bytes = retention.bytes {
            let size = try reader.size()
            let first = try reader.firstEvent()
            let count = max(1, try reader.lastEvent() - first + 1)
            if size > bytes {
                let share = Double(size - bytes) / Double(size)
                let least = min(Self.leastEvents, max(1, count / 10))
                events = max(events, first - 1 + max(least, Int64((share * Double(count)).rounded(.up))))
            }
        }
        return TrimWrite(
            events: events, attempts: retention.attempts.map { now - $0 } ?? 0,
            statistics: now - DeliveryStatistics.lifetime)
    }
}
