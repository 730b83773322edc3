internal import Synchronization

/// The requests of a receiver, and the tasks that wait for them. Any thread.
final class Recording: Sendable {
    typealias Condition = @Sendable ([ReceivedRequest]) -> Bool

    private struct Waiting {
        let id: Int
        let condition: Condition
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var requests: [ReceivedRequest] = []
        var requestCount = 0
        var connectionCount = 0
        var waiting: [Waiting] = []
        var nextID = 0
        /// Waiters whose task was cancelled before they waited.
        var cancelled: Set<Int> = []
        var isOver = false
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the number of requests to keep; later ones are only counted.
    init(limit: Int) {
        self.limit = limit
    }

    var requests: [ReceivedRequest] { state.withLock { $0.requests } }
    var requestCount: Int { state.withLock { $0.requestCount } }
    var connectionCount: Int { state.withLock { $0.connectionCount } }

    func recordConnection() {
        state.withLock { $0.connectionCount += 1 }
    }

    func append(_ request: ReceivedRequest) {
        let ready = state.withLock { state in
            state.requestCount += 1
            if state.requests.count < limit { state.requests.append(request) }
            if state.waiting.isEmpty { return [Waiting]() }
            let ready = state.waiting.filter { $0.condition(state.requests) }
            state.waiting.removeAll { entry in ready.contains { $0.id == entry.id } }
            return ready
        }
        for entry in ready { entry.continuation.resume() }
    }

    /// Waits until the condition holds for all requests so far, the recording has ended or the task is cancelled.
    func wait(until condition: @escaping Condition) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.cancelled.remove(id) != nil || state.isOver || condition(state.requests) { return true }
                    state.waiting.append(Waiting(id: id, condition: condition, continuation: continuation))
                    return false
                }
                if isThere { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { state in
                guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
                    state.cancelled.insert(id)
                    return Waiting?.none
                }
                return state.waiting.remove(at: index)
            }
            waiting?.continuation.resume()
        }
        state.withLock { _ = $0.cancelled.remove(id) }
    }

    /// No more requests will arrive: resumes all waiters.
    func finish() {
        let waiting = state.withLock { state in
            state.isOver = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for entry in waiting { entry.continuation.resume() }
    }
}
