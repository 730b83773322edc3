/// A heap of deferred work. A value.
struct Timers {
    struct Timer {
        /// Nanoseconds of the monotonic clock.
        let due: Int64
        let work: ReceiverLoop.Work
    }

    private struct Entry {
        let timer: Timer
        /// Entries with equal times keep their order.
        let number: Int

        static func < (left: Entry, right: Entry) -> Bool {
            (left.timer.due, left.number) < (right.timer.due, right.number)
        }
    }

    /// No entry is due before the one at half its index.
    private var heap: [Entry] = []
    private var added = 0

    var nextDue: Int64? { heap.first?.timer.due }

    mutating func add(_ timer: Timer) {
        added += 1
        var index = heap.count
        heap.append(Entry(timer: timer, number: added))
        while index > 0, heap[index] < heap[(index - 1) / 2] {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func popDue(at now: Int64) -> ReceiverLoop.Work? {
        guard let first = heap.first, first.timer.due <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while let child = [2 * index + 1, 2 * index + 2].filter({ $0 < heap.count }).min(by: { heap[$0] < heap[$1] }),
            heap[child] < heap[index]
        {
            heap.swapAt(index, child)
            index = child
        }
        return first.timer.work
    }
}
