/// Timers ordered by due time: a binary min-heap. Times are monotonic nanoseconds.
package struct TimerQueue<Payload> {
    private var heap: [(due: Int64, payload: Payload)] = []

    package init() {}

    package var nextDue: Int64? { heap.first?.due }
    package var count: Int { heap.count }
    /// In no order.
    package var payloads: [Payload] { heap.map { $0.payload } }

    package mutating func insert(_ payload: Payload, due: Int64) {
        heap.append((due, payload))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if heap[parent].due <= heap[child].due { return }
            heap.swapAt(parent, child)
            child = parent
        }
    }

    /// Removes and returns the earliest timer if it is due at `now`.
    package mutating func popDue(now: Int64) -> Payload? {
        guard let first = heap.first, first.due <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink(0)
        }
        return first.payload
    }

    package mutating func removeAll(where isRemoved: (Payload) -> Bool) {
        heap.removeAll { isRemoved($0.payload) }
        for parent in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(parent) }
    }

    private mutating func sink(_ first: Int) {
        var parent = first
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].due < heap[smallest].due { smallest = child }
            }
            if smallest == parent { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
