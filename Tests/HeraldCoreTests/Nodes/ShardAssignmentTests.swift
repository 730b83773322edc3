import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// The number of shards in a set.
private func count(_ shards: Shards) -> Int { shards.rawValue.nonzeroBitCount }

/// Nodes as they come: with random keys, but always the same.
private func nodes(_ count: Int, seed: UInt32 = 1) -> [NodeKey] {
    (0..<count).map { NodeKey(rawValue: (UInt32($0) &+ seed) &* 2_654_435_761) }
}

@Suite struct ShardAssignmentTests {
    @Test("each shard has one node, and no node has two shards more than another", arguments: 1...70)
    func evenShares(_ number: Int) throws {
        let found = ShardAssignment.shards(among: nodes(number))
        #expect(found.count == number)
        #expect(found.values.reduce(0) { $0 + count($1) } == Shards.count)
        #expect(found.values.reduce(into: Shards()) { $0.formUnion($1) } == .all)
        let shares = found.values.map(count)
        #expect(try #require(shares.max()) - #require(shares.min()) <= 1)
    }

    @Test("all nodes compute the same, whatever the order in which they see the others")
    func orderDoesNotMatter() {
        let all = nodes(7)
        #expect(ShardAssignment.shards(among: all.reversed() + all) == ShardAssignment.shards(among: all))
    }

    @Test("when a node joins, its share moves, and twelve shards more at most", arguments: 1...15, UInt32(1)...8)
    func join(_ number: Int, seed: UInt32) {
        let all = nodes(number + 1, seed: seed)
        let before = ShardAssignment.shards(among: all.dropLast())
        let after = ShardAssignment.shards(among: all)
        let moved = all.dropLast().reduce(0) { $0 + count(before[$1, default: []].subtracting(after[$1, default: []])) }
        let share = (Shards.count + number) / (number + 1)
        #expect(moved >= Shards.count / (number + 1))
        #expect(moved <= share + 12)
    }

    @Test("without nodes there are no shares")
    func noNodes() { #expect(ShardAssignment.shards(among: []).isEmpty) }
}

@Suite struct ShardPlanTests {
    private let me = nodes(1)[0]

    @Test("a node that is alone takes all shards, and tries again for those that others still hold")
    func alone() {
        var plan = ShardPlan(node: me)
        #expect(plan.step(among: [me]) == .init(take: .all))
        plan.took(Shards.all.first(40))
        #expect(count(plan.step(among: [me]).take) == 24)
        plan.took(.all)
        #expect(plan.step(among: [me]) == .init())
    }

    @Test("when another one joins, its share is given eight at a time")
    func gives() {
        var plan = ShardPlan(node: me)
        plan.took(.all)
        let both = nodes(2)
        var steps = 0
        while count(plan.held) > 32 {
            let step = plan.step(among: both)
            #expect(count(step.give) == 8)
            #expect(plan.step(among: both) == .init(), "those that are being given are not given again")
            #expect(plan.held.isSuperset(of: step.give), "they are held until they are released")
            plan.gave(step.give)
            steps += 1
        }
        #expect(steps == 4)
        #expect(plan.held == ShardAssignment.shards(among: both)[me])
        #expect(plan.step(among: both) == .init())
    }

    @Test("a node that the others do not see takes nothing and gives nothing")
    func unseen() {
        var plan = ShardPlan(node: me)
        plan.took(Shards.all.first(3))
        #expect(plan.step(among: [nodes(2)[1]]) == .init())
    }

    @Test("what it has lost it takes again when its loops have forgotten it")
    func loses() {
        var plan = ShardPlan(node: me)
        plan.took(Shards.all.first(20))
        _ = plan.step(among: nodes(64))
        plan.lost(Shards.all.first(15))
        #expect(count(plan.held) == 5 && plan.giving.subtracting(plan.held).isEmpty)
        #expect(count(plan.step(among: [me]).take) == 44)
        plan.left(Shards.all.first(15))
        #expect(count(plan.step(among: [me]).take) == 59)
    }
}
