import HeraldRuntime
import HeraldTestSupport

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Several processes that share the delegates, to which everything happens in the order that a seed says: they come, die, sleep
/// and lose their sessions, transactions have unknown outcomes, receivers fail, deliveries are requested again, and a standby takes over
/// that lacks the end of what was written. In the end each event has arrived, as often as was asked for.
final class NodeSimulation {
    private let memory = MemoryStore()
    private let clock = ManualClock()
    private let seed: UInt64
    private var random: SeededRandom
    private var worlds: [World] = []
    /// The sleeping nodes, with the start of the sleep in monotonic nanoseconds.
    private var sleepers: [(world: World, since: Int64, isThrownOut: Bool)] = []
    private var nodes: UInt32 = 0
    private var failing = 0.2
    /// The contents of a standby, which is updated from time to time.
    private var standby: MemoryContents?
    private var arrivals: [DelegateKey: [String]] = [:]
    /// The requested redeliveries, and the number of events that the delegate had received then.
    private var requests: [(key: DelegateKey, event: String, arrived: Int)] = []
    /// The history of the nodes, for a report.
    private(set) var history: [String] = []
    /// How many events were published.
    private(set) var events = 0
    /// The callbacks and their outcomes, in order: equal for equal seeds.
    private(set) var trace: [String] = []

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init(seed: UInt64) {
        self.seed = seed
        random = SeededRandom(seed: seed)
    }

    func run(steps: Int) throws {
        try join()
        World.advance(worlds, seconds: 1)
        let orderings: [WebhookSettings.Ordering] = [.none, .subject, .strict]
        let keys = (0..<9).map { number in
            worlds[0].register("https://receiver.example/\(number)") {
                $0.ordering = orderings[number % 3]
                $0.retrySchedule = Array(repeating: 5, count: 100)
            }
        }
        for _ in 0..<steps { try step() }
        failing = 0
        while !sleepers.isEmpty { wake() }
        World.advance(worlds, seconds: 60)
        let log = memory.read { $0.events }.filter { !ServiceFamily.isOne($0.type) }
        let subjects = Dictionary(uniqueKeysWithValues: log.map { ($0.id, $0.subject) })
        for (number, key) in keys.enumerated() {
            var seen: Set<String> = []
            let first = (arrivals[key] ?? []).filter { subjects[$0] != nil && seen.insert($0).inserted }
            if seen != Set(log.map(\.id)) { throw fail("delegate \(key) got \(seen.count) of \(log.count) events") }
            switch orderings[number % 3] {
            case .none: break
            case .strict: if first != log.map(\.id) { throw fail("delegate \(key) got events out of order") }
            case .subject:
                for subject in Set(log.map(\.subject)) {
                    let wanted = log.filter { $0.subject == subject }.map(\.id)
                    if first.filter({ subjects[$0] == subject }) != wanted {
                        throw fail("delegate \(key) got events of \(subject ?? "-") out of order")
                    }
                }
            }
        }
        for (key, event, arrived) in requests {
            guard arrivals[key]?.dropFirst(arrived).contains(event) == true else {
                throw fail("delegate \(key) did not get \(event) again")
            }
        }
        events = log.count
        if !memory.read({ $0.waiting.isEmpty }) { throw fail("retries are left") }
        let shares = worlds.map { $0.process.counts.held.number }
        if shares.reduce(0, +) != 64 { throw fail("the nodes have \(shares) shards") }
    }

    private func fail(_ what: String) -> Failure {
        Failure(description: "HERALD_NODE_SEED=\(seed): \(what): \(history.joined(separator: ", "))")
    }

    private func step() throws {
        let world = worlds.randomElement(using: &random)!
        switch Int.random(in: 0..<36, using: &random) {
        case 0..<10:
            world.publish(
                Int.random(in: 1...20, using: &random), subject: "s\(Int.random(in: 0..<3, using: &random))")
        case 10..<20: advance(Double.random(in: 0..<3, using: &random))
        case 20..<22: if worlds.count + sleepers.count < 5 { try join() }
        case 22: if worlds.count > 1 { kill() }
        case 23 where worlds.count > 1: end()
        case 24, 25: if worlds.count > 1 { sleep() }
        case 26: if !sleepers.isEmpty { wake() }
        case 27: cut(world)
        case 28: standby = memory.read { $0 }
        case 29: try promote()
        case 30..<34: request(at: world)
        default: world.store.fail(.unknown(reason: "the answer was lost"))
        }
    }

    /// One that the delegate has got, so that its first deliveries stay in order.
    private func request(at world: World) {
        guard let (key, got) = arrivals.sorted(by: { $0.key < $1.key }).randomElement(using: &random),
            let event = got.randomElement(using: &random)
        else { return }
        let action = DeliveryWrite.Action.redeliverEvent(id: event, delegateID: world.delegate(key)?.id)
        if case .count(1) = world.manage(action) { requests.append((key, event, got.count)) }
    }

    /// The end of its log is the end from now on. Processes that have read more restart without state.
    private func promote() throws {
        guard var contents = standby.take() else { return }
        history.append("a standby takes over")
        (worlds, sleepers, requests) = ([], [], [])
        contents.endSessions()
        memory.read { $0 = contents }
        for _ in 0..<Int.random(in: 1...3, using: &random) { try join() }
    }

    private func join() throws {
        nodes += 1
        history.append("\(nodes) joins")
        let world = try World(
            loops: Int.random(in: 1...3, using: &random), maxRecentEvents: 50, windowEvents: 30, memory: memory,
            clock: clock, prefix: "n\(nodes)-", node: nodes &* 2_654_435_761,
            part: nodes.isMultiple(of: 2) ? 2 : LoopLimits().partSize)
        world.answer = { [unowned self] callback in
            // Some take their time.
            if Double.random(in: 0..<1, using: &random) < failing { return nil }
            let fails = Double.random(in: 0..<1, using: &random) < failing
            trace.append("\(clock.now) \(callback.delegate.key) \(callback.event.id) \(callback.attempt) \(fails)")
            if !fails { arrivals[callback.delegate.key, default: []].append(callback.event.id) }
            return fails ? .failure : .success
        }
        worlds.append(world)
    }

    /// Time passes; the store throws out who does not give signs of life.
    private func advance(_ seconds: Double) {
        World.advance(worlds, seconds: seconds)
        for index in sleepers.indices where clock.now - sleepers[index].since > 10_000_000_000 {
            guard !sleepers[index].isThrownOut else { continue }
            endSession(of: sleepers[index].world)
            sleepers[index].isThrownOut = true
        }
    }

    private func endSession(of world: World) { world.store.memoryLeases?.endSession() }

    private func kill() {
        history.append("one dies")
        endSession(of: worlds.remove(at: worlds.indices.randomElement(using: &random)!))
    }

    /// It gives what it has, and goes when that is done, or when it has waited long enough.
    private func end() {
        history.append("one ends")
        let world = worlds.randomElement(using: &random)!
        world.process.handover.begin(deadline: clock.now + 5_000_000_000)
        World.advance(worlds, seconds: Double.random(in: 0..<12, using: &random))
        worlds.removeAll { $0 === world }
        endSession(of: world)
    }

    private func sleep() {
        history.append("one sleeps")
        sleepers.append((worlds.remove(at: worlds.indices.randomElement(using: &random)!), clock.now, false))
    }

    private func wake() {
        history.append("one wakes")
        let world = sleepers.removeFirst().world
        worlds.append(world)
        // In its loops first, or in its writer.
        if Bool.random(using: &random) { world.run() }
    }

    /// It notices at once, but another node may be faster.
    private func cut(_ world: World) {
        history.append("one is cut off")
        endSession(of: world)
        world.process.cluster.sessionIsLost()
        let others = worlds.filter { $0 !== world }
        if Bool.random(using: &random) { World.advance(others, seconds: 1) }
    }
}
