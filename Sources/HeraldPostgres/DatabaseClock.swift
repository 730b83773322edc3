import HeraldRuntime
import Synchronization

/// How far the clock of the database server is ahead of this machine's. What one process writes of times another one reads: by
/// this clock they agree on them, also when their machines do not. The writer's thread changes it, any thread reads it.
final class DatabaseClock: Sendable {
    /// This machine's clock.
    let machine: Clock
    private let milliseconds = Atomic<Int64>(0)

    init(_ machine: Clock) { self.machine = machine }

    /// In milliseconds.
    var offset: Int64 { milliseconds.load(ordering: .relaxed) }

    /// Corrects the offset by as little as it must be wrong, so that times do not jump with each response that is late.
    /// - Parameters:
    ///   - time: of the server, in milliseconds since 1970 UTC. It was read between the two others, which are this machine's.
    func learn(_ time: Int64, after sent: Int64, before received: Int64) {
        // Otherwise this machine's clock was set during the request.
        guard sent <= received else { return }
        milliseconds.store(min(max(offset, time - received), time - sent), ordering: .relaxed)
    }
}
