internal import Synchronization

/// Closed until it is opened, once. Any thread.
package final class ReceiverGate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for body in waiting { body() }
    }

    /// Calls the closure once: now, or on the thread that opens the gate.
    func whenOpen(_ body: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiting.append(body) }
            return state.isOpen
        }
        if isOpen { body() }
    }
}
