/// A queue of lanes for each app, by its index in the scheduler: no lane waits for those of another app. The apps take turns.
struct LanesByShare {
    private var queues: [Int: RoundRobin] = [:]
    /// The apps with lanes.
    private var turns = RoundRobin()

    var isEmpty: Bool { turns.isEmpty }

    func contains(_ lane: Int, of share: Int) -> Bool { queues[share]?.contains(lane) ?? false }

    /// - Returns: whether the lane did not wait yet.
    mutating func append(_ lane: Int, of share: Int) -> Bool {
        turns.append(share)
        return queues[share, default: RoundRobin()].append(lane)
    }

    mutating func remove(_ lane: Int, of share: Int) {
        queues[share]?.remove(lane)
        if queues[share]?.isEmpty == true {
            queues[share] = nil
            turns.remove(share)
        }
    }

    /// Removes the first lanes of some apps.
    /// - Parameters:
    ///   - count: their maximum number for each app.
    ///   - shares: the maximum number of apps. The others are the next ones.
    mutating func take(_ count: Int, ofShares shares: Int) -> [Int] {
        var taken: [Int] = []
        for _ in 0..<min(shares, turns.count) {
            guard let share = turns.next() else { break }
            var left = count
            while left > 0, let lane = queues[share]?.next() {
                taken.append(lane)
                left -= 1
            }
            if queues[share]?.isEmpty == false { turns.append(share) } else { queues[share] = nil }
        }
        return taken
    }
}
