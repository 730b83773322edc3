import HeraldRuntime

/// A queue of lanes that contains each lane at most once.
struct RoundRobin {
    private var queue = FIFO<Int>()
    private var queued: Set<Int> = []

    /// Number of queued lanes.
    var count: Int { queued.count }

    var isEmpty: Bool { queued.isEmpty }

    func contains(_ lane: Int) -> Bool { queued.contains(lane) }

    /// - Returns: whether the lane was not queued yet.
    @discardableResult
    mutating func append(_ lane: Int) -> Bool {
        guard queued.insert(lane).inserted else { return false }
        queue.append(lane)
        return true
    }

    /// The next lane, which stays queued.
    var first: Int? {
        mutating get {
            while let lane = queue.first {
                if queued.contains(lane) { return lane }
                queue.removeFirst()
            }
            return nil
        }
    }

    mutating func next() -> Int? {
        while let lane = queue.popFirst() {
            if queued.remove(lane) != nil { return lane }
        }
        return nil
    }

    /// Removes a lane. Its entry in the queue remains: it is skipped, or serves the next lane with the same index. When such
    /// entries are more than the others, all of them are removed.
    /// - Returns: whether the lane was queued.
    @discardableResult
    mutating func remove(_ lane: Int) -> Bool {
        guard queued.remove(lane) != nil else { return false }
        if queue.count > 2 * queued.count + 16 {
            var left = queued
            queue.removeAll { left.remove($0) == nil }
        }
        return true
    }

    /// Number of entries, including those of removed lanes.
    var entries: Int { queue.count }
}
