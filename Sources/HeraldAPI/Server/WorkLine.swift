import HeraldJSON
import HeraldModel
import HeraldRuntime
import Synchronization

/// One thread that does work, and its queue: the apps take turns, each in the order of its requests.
///
/// Any thread. The lock guards the queue.
final class WorkLine: Sendable {
    struct Entry: Sendable {
        let app: AppKey
        /// The approximate memory that it holds.
        let bytes: Int
        /// - Returns: `false` if the budget was exhausted; the attempt has no effect then.
        let attempt: @Sendable (inout WorkBudget) -> Bool
        let refuse: @Sendable (Problem) -> Void
    }

    private struct State {
        var waiting = TurnQueue<AppKey, Entry>()
        var bytes = 0
        /// The bytes of each app with requests that wait.
        var bytesOfApps: [AppKey: Int] = [:]
        var isEnded = false
        var thread: Thread?

        /// An app has at most three times the bytes that stay free, so that there are some for other apps. One request of an app
        /// needs only what is free.
        func hasRoom(for entry: Entry, _ bounds: Bounds) -> Bool {
            guard waiting.count < bounds.requests, waiting.count(of: entry.app) < bounds.requestsOfApp else {
                return false
            }
            if waiting.isEmpty { return true }
            let free = bounds.bytes - bytes - entry.bytes
            let own = bytesOfApps[entry.app] ?? 0
            return free >= 0 && (own == 0 || own + entry.bytes <= 3 * free)
        }

        mutating func append(_ entry: Entry) {
            waiting.append(entry, of: entry.app)
            bytes += entry.bytes
            bytesOfApps[entry.app, default: 0] += entry.bytes
        }

        mutating func takeFirst() -> Entry? {
            guard let entry = waiting.takeFirst() else { return nil }
            bytes -= entry.bytes
            bytesOfApps[entry.app, default: 0] -= entry.bytes
            if waiting.count(of: entry.app) == 0 { bytesOfApps[entry.app] = nil }
            return entry
        }
    }

    /// The limits of the queue.
    struct Bounds: Sendable {
        let requests: Int
        let bytes: Int
        /// So that one app can't fill the queue.
        var requestsOfApp: Int { requests / 2 }
    }

    private let bounds: Bounds
    private let state = Mutex(State())
    private let tickets = Semaphore()
    private let steps: Int
    private let spent: @Sendable (Entry) -> Void

    /// - Parameters:
    ///   - steps: the budget of each entry.
    ///   - spent: called on the thread with an entry that exceeded it.
    init(
        name: String, bounds: Bounds, steps: Int, priority: Thread.Priority, spent: @escaping @Sendable (Entry) -> Void
    ) throws(SystemError) {
        self.bounds = bounds
        self.steps = steps
        self.spent = spent
        let thread = try Thread(name: name, priority: priority) { [self] in run() }
        state.withLock { $0.thread = thread }
    }

    /// - Returns: the reason if it was refused.
    func add(_ entry: Entry) -> Problem? {
        let problem: Problem? = state.withLock { state in
            if state.isEnded { return Problem(.stopping) }
            guard state.hasRoom(for: entry, bounds) else { return .tooManyChecks }
            state.append(entry)
            return nil
        }
        if problem == nil { tickets.signal() }
        return problem
    }

    /// Refuses queued work; the thread ends soon.
    /// - Returns: the thread, once.
    private func close() -> Thread? {
        let (refused, thread) = state.withLock { state in
            let refused = state.waiting.elements
            let thread = state.thread
            state = State()
            state.isEnded = true
            return (refused, thread)
        }
        tickets.signal()
        for entry in refused { entry.refuse(Problem(.stopping)) }
        return thread
    }

    /// For an owner that is released, possibly on this very thread.
    func end() { close()?.detach() }

    /// Returns when the thread has ended. Must not be called on it.
    func stop() { close()?.join() }

    private func run() {
        while true {
            tickets.wait()
            guard let entry = state.withLock({ $0.takeFirst() }) else {
                if isEnded { return }
                continue
            }
            // A thread of the lowest priority can take long for a few steps while others want the processor.
            var budget = WorkBudget(steps: steps) { [self] in isEnded }
            if entry.attempt(&budget) { continue }
            if isEnded { entry.refuse(Problem(.stopping)) } else { spent(entry) }
        }
    }

    private var isEnded: Bool { state.withLock { $0.isEnded } }
}
