/// Calls that wait for their turn. Any thread adds; one at a time delivers.
final class CallQueue: Sendable {
    typealias Call = @Sendable () -> Void

    private struct State {
        var waiting: [Call] = []
        /// Somebody delivers, or was asked to.
        var isScheduled = false
        var isClosed = false
    }

    private let state = Lock(State())
    private let schedule: @Sendable (CallQueue) -> Void

    /// - Parameter schedule: sees to it that the calls are delivered, soon and once. Called outside the lock.
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

    /// Makes the calls that wait. Those that come meanwhile get a turn of their own, so that others on the same thread do.
    func deliver() { if deliverSome() { schedule(self) } }

    func deliver(on actor: isolated any Actor) { deliver() }

    /// Makes the calls that wait, and those that come meanwhile.
    func deliverAll() { while deliverSome() {} }

    /// - Returns: whether more have come.
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

    /// There is nobody left who could deliver.
    func close() {
        let dropped = state.withLock { state in
            defer { state = State(isClosed: true) }
            return state
        }
        withExtendedLifetime(dropped) {}
    }
}
