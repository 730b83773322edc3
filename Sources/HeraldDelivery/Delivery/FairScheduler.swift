import HeraldModel

/// The apps of one delivery loop, and the lanes of each.
///
/// Every app has its own router, so that its events cost nothing for the delegates of other apps, and its own queue.
/// Among the apps with queued lanes, the one with the fewest open requests is next. So an app with many delegates, or
/// with receivers that never respond, takes no more than its equal share of the slots that become free, and leaves a
/// quarter of all slots to other apps. Choosing costs time linear in the number of apps with queued lanes.
///
/// Within an app, proven lanes get three of four turns while lanes of both kinds are queued: a thousand unproven
/// receivers do not delay the one that responds.
///
/// Confined to one thread.
final class FairScheduler {
    private struct Share {
        let app: AppKey
        var router = Router()
        /// Lanes that may start some of their work, in the order of their turns.
        var proven = RoundRobin()
        var unproven = RoundRobin()
        var turnsOfProven = 0
        var lanes = 0
        /// Number of open requests, including those of removed lanes.
        var open = 0
        var lastTurn = 0

        func hasLane(_ eligible: Eligible) -> Bool { !proven.isEmpty || eligible == .all && !unproven.isEmpty }

        mutating func nextLane(_ eligible: Eligible) -> Int? {
            let mayBeUnproven = eligible == .all && !unproven.isEmpty
            if !mayBeUnproven || turnsOfProven < FairScheduler.provenInARow, let lane = proven.next() {
                turnsOfProven += 1
                return lane
            }
            turnsOfProven = 0
            return mayBeUnproven ? unproven.next() : nil
        }
    }

    /// Which lanes may get the turn.
    enum Eligible {
        case all
        case proven
    }

    /// Number of consecutive turns of proven lanes while unproven ones are queued.
    private static let provenInARow = 3

    private var shares: [Share?] = []
    private var indices: [AppKey: Int] = [:]
    private var free: [Int] = []
    private var turns = 0
    /// The apps with queued lanes: the others, which may be a thousand, cost a turn nothing.
    private(set) var queued: Set<Int> = []
    /// Number of queued lanes.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    // MARK: Adding and removing lanes

    /// Adds a lane to an app.
    /// - Returns: the index of the app, which the lane keeps.
    func join(_ app: AppKey) -> Int {
        let index = indices[app] ?? add(Share(app: app))
        shares[index]?.lanes += 1
        return index
    }

    /// Removes a lane from the app at this index.
    func leave(_ lane: Int, _ index: Int) {
        if shares[index]?.proven.remove(lane) == true { count -= 1 }
        if shares[index]?.unproven.remove(lane) == true { count -= 1 }
        shares[index]?.lanes -= 1
        updateQueued(index)
        forgetIfUnused(index)
    }

    private func updateQueued(_ index: Int) {
        if shares[index]?.hasLane(.all) == true { queued.insert(index) } else { queued.remove(index) }
    }

    private func add(_ share: Share) -> Int {
        let index = free.popLast() ?? shares.count
        if index == shares.count { shares.append(share) } else { shares[index] = share }
        indices[share.app] = index
        return index
    }

    private func forgetIfUnused(_ index: Int) {
        guard let share = shares[index], share.lanes == 0, share.open == 0 else { return }
        indices[share.app] = nil
        shares[index] = nil
        free.append(index)
    }

    // MARK: Events

    func insert(_ lane: Int, _ patterns: [EventPattern], _ index: Int) {
        shares[index]?.router.insert(lane, patterns)
    }

    /// - Parameter patterns: the patterns that the lane was inserted with.
    func remove(_ lane: Int, _ patterns: [EventPattern], _ index: Int) {
        shares[index]?.router.remove(lane, patterns)
    }

    /// The lanes to offer an event to; see `Router`.
    func lanes(for event: Event) -> (any: [Int], named: [Int]) {
        guard let index = indices[event.app] else { return ([], []) }
        return shares[index]?.router.lanes(for: event.type) ?? ([], [])
    }

    // MARK: Turns

    /// - Parameter isProven: the receiver has responded, and has not failed since.
    func append(_ lane: Int, _ index: Int, isProven: Bool) {
        if shares[index]?.proven.contains(lane) == true { return }
        if isProven {
            if shares[index]?.unproven.remove(lane) == true { count -= 1 }
            if shares[index]?.proven.append(lane) == true { count += 1 }
        } else if shares[index]?.unproven.append(lane) == true {
            count += 1
        }
        queued.insert(index)
    }

    /// Removes and returns the lane whose turn it is.
    /// - Parameter free: the number of slots that are free.
    func next(_ eligible: Eligible = .all, free: Int = .max) -> Int? {
        guard count > 0 else { return nil }
        var chosen: (index: Int, open: Int, lastTurn: Int)?
        for index in queued where shares[index]?.hasLane(eligible) == true && mayOpen(index, free: free) {
            guard let open = shares[index]?.open, let lastTurn = shares[index]?.lastTurn else { continue }
            if let chosen, (chosen.open, chosen.lastTurn, chosen.index) < (open, lastTurn, index) { continue }
            chosen = (index, open, lastTurn)
        }
        guard let chosen else { return nil }
        turns += 1
        count -= 1
        shares[chosen.index]?.lastTurn = turns
        defer { updateQueued(chosen.index) }
        return shares[chosen.index]?.nextLane(eligible)
    }

    /// Whether the app may open one more request. While other apps have lanes, an app has at most three times as many as slots
    /// stay free, as in `Shares`: once its receivers hang, it is too late to leave slots to others. One is always allowed.
    func mayOpen(_ index: Int, free: Int) -> Bool {
        guard indices.count > 1, let open = shares[index]?.open else { return true }
        return open == 0 || open / 3 < free - 1
    }

    /// Whether no app with queued lanes has fewer open requests than this one.
    func mayOvertake(_ index: Int) -> Bool {
        guard let open = shares[index]?.open else { return false }
        return queued.allSatisfy { shares[$0]?.open ?? open >= open }
    }

    /// Counts a request of the app as open.
    func began(_ index: Int) { shares[index]?.open += 1 }

    /// Called when a request of the app has ended.
    func ended(_ index: Int) {
        shares[index]?.open -= 1
        forgetIfUnused(index)
    }
}
