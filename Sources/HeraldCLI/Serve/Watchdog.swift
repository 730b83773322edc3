import HeraldRuntime
import Synchronization

/// Notifies the service manager periodically that the server works: once each of its threads has had a round since the
/// last time. While one hangs, the manager is not notified, and restarts the server. Without such a manager, the log alone
/// reports threads that hang.
///
/// The lock guards what its thread shares with the others: the threads that have yet to respond, and the stop.
final class Watchdog: Sendable {
    private struct State {
        var round = 0
        /// The threads that have not responded in this round.
        var silent: Set<Int> = []
        var isStopped = false
    }

    private let manager: ServiceManager
    private let milliseconds: Int32
    private let pulses: [Pulse]
    private let log: Log
    private let state = Mutex(State())
    private let wakeup: Wakeup
    private let thread = Mutex<Thread?>(nil)

    /// Starts at once.
    /// - Parameters:
    ///   - pulses: the threads that must respond.
    ///   - milliseconds: the time for a response, if the manager expects no notifications.
    init(
        _ manager: ServiceManager, _ pulses: [Pulse], _ log: Log, milliseconds: Int32 = 60_000
    ) throws(SystemError) {
        self.manager = manager
        self.milliseconds = manager.watchdogMilliseconds ?? milliseconds
        self.pulses = pulses
        self.log = log
        wakeup = try Wakeup()
        let started = try Thread(name: "watchdog") { [self] in run() }
        thread.withLock { $0 = started }
    }

    /// Returns when its thread has ended: before the others, which do not respond any more then.
    func stop() {
        state.withLock { $0.isStopped = true }
        wakeup.signal()
        thread.withLock { $0.take() }?.join()
    }

    // MARK: Its thread

    private func run() {
        while !isStopped {
            let due = Clock.system.monotonic() + Int64(milliseconds) * 1_000_000
            requestPulses()
            if !waitForPulses(until: due) {
                logSilence()
                _ = waitForPulses(until: nil)
                if !isStopped { log.info("threads respond again") }
            }
            if isStopped { return }
            manager.isAlive()
            while !isStopped, let rest = Self.milliseconds(until: due) { wakeup.wait(milliseconds: rest) }
        }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    private func requestPulses() {
        let round = state.withLock { state in
            state.round += 1
            state.silent = Set(pulses.indices)
            return state.round
        }
        for (index, pulse) in pulses.enumerated() {
            pulse.request { [weak self] in self?.responded(index, round) }
        }
    }

    /// Any thread.
    private func responded(_ index: Int, _ round: Int) {
        let isLast = state.withLock { state in
            guard state.round == round else { return false }
            state.silent.remove(index)
            return state.silent.isEmpty
        }
        if isLast { wakeup.signal() }
    }

    /// - Parameter due: `nil` to wait without limit.
    /// - Returns: whether all have responded; `true` also after a stop.
    private func waitForPulses(until due: Int64?) -> Bool {
        while !state.withLock({ $0.isStopped || $0.silent.isEmpty }) {
            guard let due else {
                wakeup.wait()
                continue
            }
            guard let rest = Self.milliseconds(until: due) else { return false }
            wakeup.wait(milliseconds: rest)
        }
        return true
    }

    private func logSilence() {
        let silent = state.withLock { $0.silent }.sorted().map { pulses[$0].thread }
        log.warning(
            "threads do not respond",
            [
                "threads": silent.joined(separator: ","), "milliseconds": String(milliseconds),
                "then": manager.watchdogMilliseconds.map { _ in
                    "the service manager restarts the server if that stays"
                },
                "to_do": "check the disk, or the database, and the load of the machine",
            ])
    }

    /// `nil` if the time has passed.
    private static func milliseconds(until time: Int64) -> Int32? {
        let rest = time - Clock.system.monotonic()
        return rest > 0 ? Int32(clamping: rest / 1_000_000 + 1) : nil
    }
}
