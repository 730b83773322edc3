import Synchronization

/// Collects what threads tell, for a test that waits for it.
final class Recorder<Item: Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<[Item], Never>)] = []
    }

    private let state = Mutex(State())

    func record(_ item: Item) {
        let (items, ready) = state.withLock { state in
            state.items.append(item)
            let ready = state.waiters.filter { $0.count <= state.items.count }
            state.waiters.removeAll { $0.count <= state.items.count }
            return (state.items, ready)
        }
        for waiter in ready { waiter.continuation.resume(returning: items) }
    }

    var items: [Item] { state.withLock { $0.items } }

    /// Waits until there are so many, and returns all.
    @discardableResult
    func first(_ count: Int) async -> [Item] {
        await withCheckedContinuation { continuation in
            let items: [Item]? = state.withLock { state in
                if state.items.count >= count { return state.items }
                state.waiters.append((count, continuation))
                return nil
            }
            if let items { continuation.resume(returning: items) }
        }
    }
}
