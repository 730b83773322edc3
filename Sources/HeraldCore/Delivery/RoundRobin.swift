import HeraldRuntime

/// A queue of lanes in which each stands at most once.
struct RoundRobin {
    private var queue = FIFO<Int>()
    private var queued: Set<Int> = []

    /// How many stand in it.
    var count: Int { queued.count }

    var isEmpty: Bool { queued.isEmpty }

    func contains(_ lane: Int) -> Bool { queued.contains(lane) }

    /// - Returns: whether it stood there not yet.
    @discardableResult
    mutating func append(_ lane: Int) -> Bool {
        guard queued.insert(lane).inserted else { return false }
        queue.append(lane)
        return true
    }

    mutating func next() -> Int? {
        while let lane = queue.popFirst() {
            if queued.remove(lane) != nil { return lane }
        }
        return nil
    }

    /// Its place in the queue stays and is passed over, or serves the lane that takes the number next.
    /// - Returns: whether it stood there.
    @discardableResult
    mutating func remove(_ lane: Int) -> Bool { queued.remove(lane) != nil }
}
