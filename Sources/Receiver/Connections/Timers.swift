/// What is to be done later. A value.
struct Timers {
    struct Timer {
        /// Nanoseconds of the monotonic clock.
        let due: Int64
        let work: ReceiverLoop.Work
    }

    /// The last is due first.
    private var timers: [Timer] = []

    var nextDue: Int64? { timers.last?.due }

    mutating func add(_ timer: Timer) {
        var (low, high) = (0, timers.count)
        while low < high {
            let middle = (low + high) / 2
            if timers[middle].due > timer.due { low = middle + 1 } else { high = middle }
        }
        timers.insert(timer, at: low)
    }

    mutating func popDue(at now: Int64) -> ReceiverLoop.Work? {
        guard let last = timers.last, last.due <= now else { return nil }
        return timers.removeLast().work
    }
}
