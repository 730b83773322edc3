import HeraldModel
import HeraldRuntime

/// Writes the last uses of keys periodically, so that a request writes nothing.
final class KeyUseTask: Sendable {
    /// Milliseconds between two writes.
    static let interval: Int64 = 60_000
    /// The maximum number of keys of one transaction: a server may have hundreds of thousands.
    static let keysOfWrite = 100

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
            guard let time = entry.lastUsedAt, time > entry.key.lastUsedAt ?? 0 else { continue }
            times[entry.key.id] = time
            if times.count == Self.keysOfWrite { submit(&times) }
        }
        if !times.isEmpty { submit(&times) }
    }

    private func submit(_ times: inout [String: Int64]) {
        _ = intake.submit(AccessWrite(action: .recordUse(times)) { _ in })
        times = [:]
    }
}
