import HeraldModel
import HeraldRuntime
import Synchronization

/// Writes the last uses of keys periodically, so that a request writes nothing.
final class KeyUseTask: Sendable {
    /// Milliseconds between two writes.
    static let interval: Int64 = 60_000
    /// The maximum number of keys of one transaction: a server may have hundreds of thousands.
    static let keysOfWrite = 100

    private let keys: KeyRing
    private let intake: Intake
    private let cadence: Cadence
    /// The uses of an earlier call are still being written.
    private let isWriting = Atomic(false)

    init(_ keys: KeyRing, intake: Intake, clock: Clock) {
        self.keys = keys
        self.intake = intake
        cadence = Cadence(Self.interval, clock)
    }

    /// One thread at a time. One step waits in the queue, whose room the requests need. If it is refused, the next call repeats it.
    @Sendable
    func run() {
        guard cadence.isDue(), !isWriting.exchange(true, ordering: .relaxed) else { return }
        write(parts()[...])
    }

    /// All at once, before the hub stops. Any thread.
    func write() {
        for part in parts() { submit(part) { _ in } }
    }

    private func write(_ parts: ArraySlice<[String: Int64]>) {
        guard let part = parts.first else { return isWriting.store(false, ordering: .relaxed) }
        submit(part) { [self] isDone in write(isDone ? parts.dropFirst() : []) }
    }

    private func submit(_ times: [String: Int64], _ completion: @escaping @Sendable (_ isDone: Bool) -> Void) {
        let command = AccessWrite(action: .recordUse(times)) { result in
            if case .done = result { completion(true) } else { completion(false) }
        }
        if let refusal = intake.submit(command) { command.refuse(refusal) }
    }

    /// The uses that are not written yet, in parts for one transaction each.
    private func parts() -> [[String: Int64]] {
        var parts: [[String: Int64]] = []
        var times: [String: Int64] = [:]
        for entry in keys.all {
            guard let time = entry.lastUsedAt, time > entry.key.lastUsedAt ?? 0 else { continue }
            times[entry.key.id] = time
            if times.count < Self.keysOfWrite { continue }
            parts.append(times)
            times = [:]
        }
        return times.isEmpty ? parts : parts + [times]
    }
}
