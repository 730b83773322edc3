import HeraldModel
import HeraldRuntime

/// Writes the last uses of keys periodically, so that a request writes nothing.
final class KeyUseTask: Sendable {
    /// Milliseconds between two writes.
    static let interval: Int64 = 60_000

    private let keys: KeyRing
    private let intake: Intake
    private let cadence: Cadence

    init(_ keys: KeyRing, intake: Intake, clock: Clock) {
        self.keys = keys
        self.intake = intake
        cadence = Cadence(Self.interval, clock)
    }

    /// One thread at a time.
    @Sendable
    func run() {
        if cadence.isDue() { write() }
    }

    /// Any thread. If the write is refused, the next one includes it.
    func write() {
        var times: [String: Int64] = [:]
        for entry in keys.all {
            if let time = entry.lastUsedAt, time > entry.key.lastUsedAt ?? 0 { times[entry.key.id] = time }
        }
        guard !times.isEmpty else { return }
        _ = intake.submit(AccessWrite(action: .recordUse(times)) { _ in })
    }
}
