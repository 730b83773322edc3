import HeraldRuntime
import HeraldTestSupport

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// A random history of consumers of one pull delegate that acknowledge, fail, die and are late, of nodes that come and go, and of
/// a store that refuses transactions, or commits them without a response.
///
/// Some events kill each consumer that gets them. What is checked: nothing is handed out that was acknowledged, or that a live
/// lease has; order, if it is strict; and in the end each event was acknowledged, except those that kill, which are given up.
final class PullHistory {
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    private struct Worker {
        let lease: PullLease
        let events: [Int]
    }

    private struct Past {
        var isAcknowledged = false
        /// Attempts that are counted.
        var attempts = 0
        /// The failures besides those that come from events that kill.
        var accidents = 0
    }

    private let seed: UInt64
    private var random: SeededRandom
    private let memory = MemoryStore()
    private let clock = ManualClock()
    private var nodes: [(bench: HubBench, pulls: Pulls)] = []
    private var delegate: WebhookDelegate?
    private let isStrict: Bool
    private var past: [Past] = []
    private var workers: [Worker] = []
    /// Leases of consumers that have died.
    private var dead: [Worker] = []
    /// The events before it are over.
    private var firstOpen = 0
    private(set) var handedOut = 0
    private(set) var faults = 0

    init(seed: UInt64) {
        self.seed = seed
        random = SeededRandom(seed: seed)
        isStrict = random.chance(0.4)
    }

    private func kills(_ event: Int) -> Bool { event % 11 == 5 }

    func run(steps: Int) async throws {
        try await begin()
        for _ in 0..<steps { try await step() }
        try await finish()
        for node in nodes { await node.bench.stop(grace: 0) }
    }

    private func begin() async throws {
        try join()
        delegate = await nodes[0].bench.register("") { settings in
            settings.kind = .pull
            settings.ordering = isStrict ? .strict : .none
            settings.retrySchedule = [5, 5, 5, 5]
            settings.events = [.exact("order.paid")]
        }
    }

    private func join() throws {
        var configuration = Hub.Configuration()
        configuration.memory.maxRecentEvents = random.number(1...64)
        configuration.readers = 1
        configuration.deliveryLoops = 1
        let bench = try HubBench(store: RefusingStore(memory), configuration: configuration, clock: clock.clock)
        nodes.append((bench, Pulls(hub: bench.hub)))
    }

    // MARK: Steps

    private func step() async throws {
        switch random.number(0...19) {
        case 0...4: try await publish(random.number(1...5))
        case 5...10: try await pull()
        case 11...14: try await acknowledge()
        case 15: await extend()
        case 16: await release()
        case 17: clock.advance(seconds: Double(random.number(1...40)))
        case 18: die()
        default: try await changeNodes()
        }
        if random.chance(0.1) { spoil() }
    }

    /// The next transactions of a node fail. The writer repeats one whose outcome is unknown; after a second error, or an error that
    /// is certain, the request fails.
    private func spoil() {
        let (refused, unknown) = (StoreError.unavailable(reason: "test"), StoreError.unknown(reason: "test"))
        let errors = [[refused], [unknown], [unknown, unknown], [unknown, refused]]
        nodes[random.number(0...nodes.count - 1)].bench.store.fail(errors[random.number(0...3)])
        faults += 1
    }

    private func publish(_ count: Int) async throws {
        for _ in 0..<count {
            let node = nodes[random.number(0...nodes.count - 1)].bench
            if random.chance(0.2) { _ = try? await node.post("order.made") }
            // The publisher repeats what fails. The first response may have been lost.
            var (published, tries) = (false, 0)
            while !published {
                do {
                    _ = try await node.post("order.paid", id: "e\(past.count)")
                    published = true
                } catch {
                    tries += 1
                    if tries > 10 { throw Violation(description: "seed \(seed): not published: \(error)") }
                    clock.advance(seconds: 1)
                }
            }
            past.append(Past())
        }
    }

    private func changeNodes() async throws {
        if nodes.count < 3, random.chance(0.5) { return try join() }
        guard nodes.count > 1 else { return }
        let gone = nodes.remove(at: random.number(0...nodes.count - 1))
        await gone.bench.stop(grace: 0)
    }

    private func pull() async throws {
        expire()
        let (_, pulls) = nodes[random.number(0...nodes.count - 1)]
        guard let delegate else { return }
        let limit = random.number(1...7)
        // Half of the pulls acknowledge a lease.
        let done =
            random.chance(0.5) ? workers.indices.randomElement(using: &random).map { workers.remove(at: $0) } : nil
        let result = await withCheckedContinuation { continuation in
            pulls.pull(
                .init(
                    delegateID: delegate.id, limit: limit, ackSeconds: random.number(10...60), seconds: 0,
                    acknowledges: done?.lease.id
                ) { continuation.resume(returning: $0) })
        }
        if let done {
            if case .failure = result, stored(done.lease) != nil {
                workers.append(done)
            } else {
                for event in done.events { past[event].isAcknowledged = true }
            }
        }
        switch result {
        case .success(let run):
            guard let lease = run.lease else { return }
            let events = run.events.compactMap { Int($0.event.event.id.dropFirst()) }
            for (event, attempt) in zip(events, run.events.map(\.attempt)) { try check(event, attempt) }
            handedOut += events.count
            let worker = Worker(lease: lease, events: events)
            if events.contains(where: kills) { dead.append(worker) } else { workers.append(worker) }
        case .failure(.busy), .failure(.hub(.busy)), .failure(.hub(.store)): try findLostLease()
        case .failure(let failure): throw Violation(description: "seed \(seed): a pull failed: \(failure)")
        }
    }

    /// A lease whose response was lost is like that of a consumer that has died.
    private func findLostLease() throws {
        guard let delegate else { return }
        let (known, now) = (Set((workers + dead).map(\.lease.id)), clock.wall)
        let (leases, events) = memory.read { contents in
            let leases = contents.pullLeases[delegate.key, default: [:]].values
                .filter { $0.expiresAt > now && !known.contains($0.id) }
            let ids = leases.flatMap(\.entries).map { ($0.event, contents.event($0.event)?.id ?? "") }
            return (Array(leases), Dictionary(ids) { $1 })
        }
        for lease in leases {
            var lost: [Int] = []
            for entry in lease.entries {
                guard let event = Int((events[entry.event] ?? "").dropFirst()) else { continue }
                try check(event, entry.attempts + 1)
                past[event].accidents += 1
                lost.append(event)
            }
            dead.append(Worker(lease: lease, events: lost))
        }
    }

    /// Whether a lease is still open, and with which end: what a request did whose response was lost.
    private func stored(_ lease: PullLease) -> PullLease? { memory.read { $0.pullLeases[lease.delegate]?[lease.id] } }

    private func check(_ event: Int, _ attempt: Int) throws {
        func violated(_ text: String) -> Violation { Violation(description: "seed \(seed): event \(event) \(text)") }
        let now = clock.wall
        if past[event].isAcknowledged { throw violated("is handed out after its acknowledgement") }
        if (workers + dead).contains(where: { $0.lease.expiresAt > now && $0.events.contains(event) }) {
            throw violated("is in two leases")
        }
        if attempt != past[event].attempts + 1 {
            throw violated("has attempt \(attempt), not \(past[event].attempts + 1)")
        }
        advance()
        guard isStrict, firstOpen < event else { return }
        // Those before it in the same run are not over yet.
        if !(workers.isEmpty && dead.isEmpty) || firstOpen < event - 7 { throw violated("passes event \(firstOpen)") }
    }

    private func advance() { while firstOpen < past.count, isOver(firstOpen) { firstOpen += 1 } }

    private func isOver(_ event: Int) -> Bool { past[event].isAcknowledged || past[event].attempts >= 5 }

    /// Forgets leases that have ended: each of their events has one more attempt.
    private func expire() {
        let now = clock.wall
        for worker in workers + dead where worker.lease.expiresAt <= now {
            for event in worker.events { past[event].attempts += 1 }
        }
        // Consumers that live are late.
        for worker in workers where worker.lease.expiresAt <= now {
            for event in worker.events { past[event].accidents += 1 }
        }
        workers.removeAll { $0.lease.expiresAt <= now }
        dead.removeAll { $0.lease.expiresAt <= now }
    }

    /// One accident for each event, so that no other one is given up than those that kill.
    private func mayFail(_ worker: Worker) -> Bool { worker.events.allSatisfy { past[$0].accidents == 0 } }

    private func die() {
        guard let index = workers.indices.randomElement(using: &random), mayFail(workers[index]) else { return }
        let worker = workers.remove(at: index)
        for event in worker.events { past[event].accidents += 1 }
        dead.append(worker)
    }

    private func write(_ action: PullWrite.Action) async -> PullWrite.Outcome? {
        guard let delegate else { return nil }
        let hub = nodes[random.number(0...nodes.count - 1)].bench.hub
        let result = await hub.result(of: PullWrite.self) {
            PullWrite(delegateID: delegate.id, action: action, completion: $0)
        }
        if case .done(let outcome) = result { return outcome }
        return nil
    }

    private func acknowledge() async throws {
        expire()
        guard let index = workers.indices.randomElement(using: &random) else { return }
        let worker = workers.remove(at: index)
        let failed = worker.events.filter { past[$0].accidents == 0 && random.chance(0.2) }
        let outcome = await write(
            .acknowledge(
                lease: worker.lease.id, failed: failed.map { .init(id: "e\($0)", retryAfter: nil, reason: "refused") }))
        switch outcome {
        case .settled: break
        case nil where stored(worker.lease) == nil: break
        case nil: return workers.append(worker)
        case let outcome?: throw Violation(description: "seed \(seed): a live lease was not settled: \(outcome)")
        }
        for event in worker.events {
            if failed.contains(event) {
                past[event].attempts += 1
                past[event].accidents += 1
                if isStrict { break }
            } else {
                past[event].isAcknowledged = true
            }
        }
    }

    private func extend() async {
        expire()
        guard let index = workers.indices.randomElement(using: &random) else { return }
        let worker = workers[index]
        switch await write(.extend(lease: worker.lease.id, seconds: random.number(10...90))) {
        case .extended(let lease): workers[index] = Worker(lease: lease, events: worker.events)
        case nil: workers[index] = Worker(lease: stored(worker.lease) ?? worker.lease, events: worker.events)
        default: break
        }
    }

    private func release() async {
        expire()
        guard let index = workers.indices.randomElement(using: &random) else { return }
        let worker = workers.remove(at: index)
        if await write(.release(lease: worker.lease.id)) == nil, stored(worker.lease) != nil { workers.append(worker) }
    }

    // MARK: The end

    private func finish() async throws {
        for _ in 0..<10_000 {
            advance()
            if firstOpen == past.count { break }
            try await pull()
            while !workers.isEmpty { try await acknowledge() }
            clock.advance(seconds: 10)
        }
        expire()
        for (event, its) in past.enumerated() where !kills(event) && !its.isAcknowledged {
            // Its own attempts, and one in a run with an event that kills.
            if its.attempts >= 5, its.accidents >= 4 { continue }
            throw Violation(description: "seed \(seed): event \(event) is lost, after \(its.attempts) attempts")
        }
        let exhausted = memory.read { $0.waiting.values.count { $0.state == .exhausted } }
        let unacknowledged = past.count { !$0.isAcknowledged }
        if exhausted != unacknowledged {
            throw Violation(description: "seed \(seed): \(exhausted) events were given up, not \(unacknowledged)")
        }
    }
}
