import Foundation
import Testing

@testable import Delegation

/// A delegate of a `World`. `@unchecked Sendable`: others than its world's thread only look at what never changes.
private final class Inhabitant: @unchecked Sendable {
    let number: Int
    /// Gone when another world that shares the multicast tells it last.
    private weak let world: World?

    init(_ number: Int, _ world: World) {
        self.number = number
        self.world = world
    }

    func hear() { world?.heard(self) }
}

/// Does random things to a multicast delegate on one thread, and to a simple model of it, and compares.
///
/// Several worlds on threads of their own may share a multicast delegate: each knows only its own inhabitants.
/// `@unchecked Sendable`: all but `thread` is touched by that thread alone.
private final class World: @unchecked Sendable {
    /// A place in the collection.
    private final class Registration {
        let number: Int
        let isStrong: Bool
        /// The weak one whose place this one took.
        let predecessor: Registration?
        var isRemoved = false { didSet { predecessor?.isRemoved = isRemoved } }
        init(_ number: Int, isStrong: Bool, predecessor: Registration? = nil) {
            self.number = number
            self.isStrong = isStrong
            self.predecessor = predecessor
        }
    }

    /// A round: those that it may tell, and how far it has come.
    private final class Round {
        let members: [Registration]
        var position = 0
        init(_ members: [Registration]) { self.members = members }
    }

    private struct Weak { weak var inhabitant: Inhabitant? }

    static let maxDepth = 3

    private let delegates: MulticastDelegate<Inhabitant>
    private let isAlone: Bool
    private let thread = ObjectIdentifier(Thread.current)
    private var random: SeededRandom
    private var everyone: [Weak] = []
    private(set) var told = 0
    private(set) var failures: [String] = []

    // The model.
    private var owned: [Int: Inhabitant] = [:]
    private var members: [Registration] = []
    private var rounds: [Round] = []
    private var beingTold: [Int] = []

    init(_ delegates: MulticastDelegate<Inhabitant>, isAlone: Bool, seed: UInt64) {
        self.delegates = delegates
        self.isAlone = isAlone
        random = SeededRandom(seed: seed)
    }

    func live(steps: Int) {
        for _ in 0..<steps where failures.isEmpty {
            act()
            if isAlone { compare() }
        }
        // No inhabitant may be called after the end of its world.
        for inhabitant in owned.values { delegates.removeDelegate(inhabitant) }
        for case let inhabitant? in everyone.map(\.inhabitant) { delegates.removeDelegate(inhabitant) }
    }

    // MARK: What can happen

    private func act() {
        switch random.number(0...9) {
        case 0, 1: create()
        case 2, 3: add()
        case 4: remove()
        case 5: release()
        case 6 where isAlone && random.chance(0.05): removeAll()
        default: if rounds.count < Self.maxDepth { invoke() }
        }
    }

    private func create() {
        guard numbersOfTheLiving.count < 12 else { return random.chance(0.5) ? release() : remove() }
        let inhabitant = Inhabitant(everyone.count, self)
        everyone.append(Weak(inhabitant: inhabitant))
        owned[inhabitant.number] = inhabitant
    }

    private func add() {
        guard let inhabitant = anyone() else { return }
        let isStrong = random.chance(0.3)
        let place = members.firstIndex { $0.number == inhabitant.number }
        let isAdded = delegates.addDelegate(inhabitant, holding: isStrong ? .strong : .weak)
        expect(isAdded == (place == nil), "adding \(inhabitant.number)")
        guard let place else { return members.append(Registration(inhabitant.number, isStrong: isStrong)) }
        if isStrong && !members[place].isStrong {
            members[place] = Registration(inhabitant.number, isStrong: true, predecessor: members[place])
        }
    }

    private func remove() {
        guard let inhabitant = anyone() else { return }
        let place = members.firstIndex { $0.number == inhabitant.number }
        expect(delegates.removeDelegate(inhabitant) == (place != nil), "removing \(inhabitant.number)")
        if let place { members.remove(at: place).isRemoved = true }
    }

    private func removeAll() {
        delegates.removeAllDelegates()
        for member in members { member.isRemoved = true }
        members = []
    }

    private func release() {
        guard let number = owned.keys.sorted().randomElement(using: &random) else { return }
        owned[number] = nil
        forgetReleased()
    }

    private func invoke() {
        let round = Round(members)
        rounds.append(round)
        delegates.invokeDelegates { $0.hear() }
        if let missed = next(round, upTo: nil) { expect(false, "\(missed) was not told") }
        rounds.removeLast()
        forgetReleased()
    }

    func heard(_ inhabitant: Inhabitant) {
        // Another world's round.
        guard ObjectIdentifier(Thread.current) == thread, let round = rounds.last else { return }
        told += 1
        let expected = next(round, upTo: inhabitant.number)
        expect(
            expected == inhabitant.number, "\(inhabitant.number) was told, and not \(expected.map(String.init) ?? "-")")
        beingTold.append(inhabitant.number)
        if random.chance(0.3) { act() }
        beingTold.removeLast()
        forgetReleased()
    }

    // MARK: The model

    /// The next one that the round has to tell. In company the one that is told may be as good as dead here: another
    /// thread's round held it.
    private func next(_ round: Round, upTo told: Int?) -> Int? {
        while round.position < round.members.count {
            let member = round.members[round.position]
            round.position += 1
            if member.isRemoved { continue }
            if isAlive(member) || !isAlone && member.number == told { return member.number }
        }
        return nil
    }

    /// With other threads, the time of a release is unknown.
    private func forgetReleased() { if isAlone { members = members.filter(isAlive) } }

    private func isAlive(_ member: Registration) -> Bool {
        owned[member.number] != nil || beingTold.contains(member.number)
            || (members + rounds.flatMap(\.members)).contains { $0.number == member.number && $0.isStrong }
    }

    /// Returns a living inhabitant: owned, or a member that the collection holds.
    private func anyone() -> Inhabitant? {
        numbersOfTheLiving.randomElement(using: &random).flatMap { everyone[$0].inhabitant }
    }

    private var numbersOfTheLiving: [Int] {
        Set(owned.keys).union(members.filter { $0.isStrong }.map(\.number)).sorted()
    }

    private func compare() {
        expect(delegates.count == members.count, "count \(delegates.count), not \(members.count)")
        expect(delegates.delegates.map(\.number) == members.map(\.number), "other members, or another order")
        for (number, entry) in everyone.enumerated() {
            let isAlive = owned[number] != nil || members.contains { $0.number == number && $0.isStrong }
            expect((entry.inhabitant != nil) == isAlive, "\(number) lives: \(!isAlive), which is wrong")
            if let inhabitant = entry.inhabitant {
                expect(
                    delegates.contains(inhabitant) == members.contains { $0.number == number }, "contains \(number)")
            }
        }
    }

    private func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
        if !condition && failures.count < 5 { failures.append(what()) }
    }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
private struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        // Scrambled, or neighbouring seeds would give the same numbers, one later.
        state = seed
        state = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }
    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}

@Suite("A multicast delegate and a simple model of it", .timeLimit(.minutes(20)))
struct ModelTests {
    @Test("agree on any sequence of adding, removing, releasing, invoking and re-entering", arguments: UInt64(1)...8)
    func alone(_ seed: UInt64) async throws {
        let (told, failures) = try await onThread {
            let world = World(MulticastDelegate(), isAlone: true, seed: seed)
            world.live(steps: 400)
            return (world.told, world.failures)
        }
        #expect(failures == [])
        #expect(told > 400)
    }

    @Test("agree on several threads at once, with one pair for each thread", arguments: UInt64(1)...4)
    func inCompany(_ seed: UInt64) async throws {
        let delegates = MulticastDelegate<Inhabitant>()
        try await withThrowingTaskGroup(of: (Int, [String]).self) { group in
            for thread in 0..<4 {
                group.addTask {
                    try await onThread {
                        let world = World(delegates, isAlone: false, seed: seed * 100 + UInt64(thread))
                        world.live(steps: 300)
                        return (world.told, world.failures)
                    }
                }
            }
            for try await (told, failures) in group {
                #expect(failures == [])
                #expect(told > 300)
            }
        }
        #expect(delegates.count == 0)
    }
}
