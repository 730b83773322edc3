/// A heap of deferred work. A value.
struct Timers {
    private struct Entry {
        /// Nanoseconds of the monotonic clock.
        let due: Int64
        /// Entries with equal times keep their order.
        let number: Int
        let work: ReceiverLoop.Work

        static func < (left: Entry, right: Entry) -> Bool { (left.due, left.number) < (right.due, right.number) }
    }

    /// No entry is due before the one at half its index.
    private var heap: [Entry] = []
    private var added = 0

    var nextDue: Int64? { heap.first?.due }

    /// - Parameter due: nanoseconds of the monotonic clock.
    mutating func add(_ work: ReceiverLoop.Work, due: Int64) {
        added += 1
        var index = heap.count
        heap.append(Entry(due: due, number: added, work: work))
        while index > 0, heap[index] < heap[(index - 1) / 2] {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func popDue(at now: Int64) -> ReceiverLoop.Work? {
        guard let first = heap.first, first.due <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while let child = [2 * index + 1, 2 * index + 2].filter({ $0 < heap.count }).min(by: { heap[$0] < heap[$1] }),
            heap[child] < heap[index]
        {
            heap.swapAt(index, child)
            index = child
        }
        return first.work
    }
}
