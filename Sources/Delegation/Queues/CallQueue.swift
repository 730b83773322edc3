/// Pending calls. Any thread adds; one thread at a time executes them.
final class CallQueue: Sendable {
    typealias Call = @Sendable () -> Void

    private struct State {
        var waiting: [Call] = []
        /// A thread executes calls, or was asked to.
        var isScheduled = false
        var isClosed = false
    }

    private let state = Lock(State())
    private let schedule: @Sendable (CallQueue) -> Void

    /// - Parameter schedule: must make sure that the calls are executed, soon and once. Called without the lock.
    init(schedule: @escaping @Sendable (CallQueue) -> Void) { self.schedule = schedule }

    func add(_ call: @escaping Call) {
        let mustSchedule = state.withLock { state in
            if state.isClosed { return false }
            state.waiting.append(call)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if mustSchedule { schedule(self) }
    }

    /// Executes the pending calls. Calls that are added meanwhile are scheduled again, so that other work on the same
    /// thread gets its turn.
    func deliver() { if deliverSome() { schedule(self) } }

    func deliver(on actor: isolated any Actor) { deliver() }

    /// Executes the pending calls, and those that are added meanwhile.
    func deliverAll() { while deliverSome() {} }

    /// - Returns: whether more calls were added.
    private func deliverSome() -> Bool {
        let calls = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for call in calls { call() }
        return state.withLock { state in
            state.isScheduled = !state.waiting.isEmpty
            return state.isScheduled
        }
    }

    /// Drops all calls, because they can't be executed any more.
    func close() {
        let dropped = state.withLock { state in
            defer { state = State(isClosed: true) }
            return state
        }
        withExtendedLifetime(dropped) {}
    }
}
