import HeraldDelivery
import HeraldModel
import HeraldRuntime

/// Counts published events, and writes these counts and those of attempts periodically, so that the commit of an event
/// writes nothing more. A crash loses the counts of an interval.
final class VolumeTask: Sendable {
    /// Milliseconds between two writes.
    static let interval: Int64 = 20_000

    private let published = VolumeCounter()
    /// A counter for each loop, and one for pulls.
    private let attempts: [VolumeCounter]
    private let intake: Intake
    private let clock: Clock
    private let cadence: Cadence

    init(_ attempts: [VolumeCounter], intake: Intake, clock: Clock) {
        self.attempts = attempts
        self.intake = intake
        self.clock = clock
        cadence = Cadence(Self.interval, clock)
    }

    /// Counts events that this process has published. Not those that it reads back like those of other processes, because a commit
    /// got no response. The writer's thread.
    @Sendable
    func count(_ batch: EventBatch) {
        let now = clock.wall()
        // An event for one delegate repeats the current state.
        for event in batch.events where event.audience == nil {
            published.count(events: 1, of: event.type, app: event.app, at: now)
        }
    }

    /// The counts of all apps, or of one, that the store lacks. Any thread.
    func volumes(of app: AppKey?) -> [Volume] { (attempts + [published]).flatMap { $0.volumes(of: app) } }

    /// One thread at a time.
    @Sendable
    func run() {
        if cadence.isDue() { write() }
    }

    /// Any thread.
    func write() {
        for counter in attempts + [published] {
            let volumes = counter.take()
            if volumes.isEmpty { continue }
            if intake.submit(VolumeWrite(volumes: volumes) { counter.written(except: $0) }) != nil {
                counter.written(except: volumes)
            }
        }
    }
}
