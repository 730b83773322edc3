/// The apps of one delivery loop, and the lanes of each.
///
/// Every app has a router of its own, so that its events cost nothing for the delegates of others, and a line of its own: of
/// the apps that wait, the one with the fewest open requests comes next. So an app with many delegates, or with receivers
/// that never answer, takes from the others no more than their equal share. Choosing costs the number of apps.
///
/// In each app, lanes whose receivers work get three of four turns while there are both: a thousand that have to be tried
/// don't hold up the one that answers.
///
/// One thread.
final class FairScheduler {
    private struct Share {
        let app: AppKey
        var router = Router()
        /// Lanes that have work and may start some of it, in the order of their turns.
        var proven = RoundRobin()
        var unproven = RoundRobin()
        var turnsOfProven = 0
        var lanes = 0
        /// Requests, those of lanes that are gone included.
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

    /// Whose turn it may be.
    enum Eligible {
        case all
        case proven
    }

    /// Turns of proven lanes in a row, while unproven ones wait.
    private static let provenInARow = 3

    private var shares: [Share?] = []
    private var indices: [AppKey: Int] = [:]
    private var free: [Int] = []
    private var turns = 0
    /// Lanes that stand in line.
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    // MARK: Lanes come and go

    /// A lane of the app comes.
    /// - Returns: the app's place here, which the lane keeps.
    func join(_ app: AppKey) -> Int {
        let index = indices[app] ?? add(Share(app: app))
        shares[index]?.lanes += 1
        return index
    }

    /// A lane of the app at this place goes.
    func leave(_ lane: Int, _ index: Int) {
        if shares[index]?.proven.remove(lane) == true { count -= 1 }
        if shares[index]?.unproven.remove(lane) == true { count -= 1 }
        shares[index]?.lanes -= 1
        forgetIfUnused(index)
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

    /// - Parameter patterns: those that the lane was inserted with.
    func remove(_ lane: Int, _ patterns: [EventPattern], _ index: Int) {
        shares[index]?.router.remove(lane, patterns)
    }

    /// The lanes to offer an event to; see `Router`.
    func lanes(for event: Event) -> (any: [Int], named: [Int]) {
        guard let index = indices[event.app] else { return ([], []) }
        return shares[index]?.router.lanes(for: event.type) ?? ([], [])
    }

    // MARK: Turns

    /// - Parameter isProven: its receiver has answered, and has not failed since.
    func append(_ lane: Int, _ index: Int, isProven: Bool) {
        if shares[index]?.proven.contains(lane) == true { return }
        if isProven {
            if shares[index]?.unproven.remove(lane) == true { count -= 1 }
            if shares[index]?.proven.append(lane) == true { count += 1 }
        } else if shares[index]?.unproven.append(lane) == true {
            count += 1
        }
    }

    /// The lane whose turn it is.
    func next(_ eligible: Eligible = .all) -> Int? {
        guard count > 0 else { return nil }
        var chosen: (index: Int, open: Int, lastTurn: Int)?
        for index in shares.indices where shares[index]?.hasLane(eligible) == true {
            guard let open = shares[index]?.open, let lastTurn = shares[index]?.lastTurn else { continue }
            if let chosen, (chosen.open, chosen.lastTurn) <= (open, lastTurn) { continue }
            chosen = (index, open, lastTurn)
        }
        guard let chosen else { return nil }
        turns += 1
        count -= 1
        shares[chosen.index]?.lastTurn = turns
        return shares[chosen.index]?.nextLane(eligible)
    }

    /// A request of the app begins.
    func began(_ index: Int) { shares[index]?.open += 1 }

    /// A request of the app has ended.
    func ended(_ index: Int) {
        shares[index]?.open -= 1
        forgetIfUnused(index)
    }
}
