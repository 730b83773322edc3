import HeraldRuntime
import HeraldTestSupport

@testable import HeraldCore

/// A random history of consumers of one pull delegate that acknowledge, fail, die and are late, and of nodes that come and go.
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
    private(set) var handedOut = 0

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
    }

    private func publish(_ count: Int) async throws {
        for _ in 0..<count {
            let node = nodes[random.number(0...nodes.count - 1)].bench
            if random.chance(0.2) { _ = try await node.post("order.made") }
            _ = try await node.post("order.paid", id: "e\(past.count)")
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
        let run: Pulls.Run = try await withCheckedThrowingContinuation { continuation in
            pulls.pull(
                .init(delegateID: delegate.id, limit: limit, ackSeconds: random.number(10...60), seconds: 0) {
                    continuation.resume(with: $0)
                })
        }
        guard let lease = run.lease else { return }
        let events = run.events.compactMap { Int($0.event.event.id.dropFirst()) }
        for (event, attempt) in zip(events, run.events.map(\.attempt)) { try check(event, attempt) }
        handedOut += events.count
        let worker = Worker(lease: lease, events: events)
        if events.contains(where: kills) { dead.append(worker) } else { workers.append(worker) }
    }

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
        guard isStrict, let first = past.indices.first(where: { !isOver($0) && $0 < event }) else { return }
        // Those before it in the same run are not over yet.
        if !(workers.isEmpty && dead.isEmpty) || first < event - 7 { throw violated("passes event \(first)") }
    }

    private func isOver(_ event: Int) -> Bool { past[event].isAcknowledged || past[event].attempts >= 5 }

    /// Forgets leases that have ended: each of their events has one more attempt.
    private func expire() {
        let now = clock.wall
        for worker in workers + dead where worker.lease.expiresAt <= now {
            for event in worker.events { past[event].attempts += 1 }
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
        let result = await withCheckedContinuation { continuation in
            hub.submit(PullWrite(delegateID: delegate.id, action: action) { continuation.resume(returning: $0) })
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
        guard case .settled = outcome else {
            throw Violation(description: "seed \(seed): a live lease was not settled: \(String(describing: outcome))")
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
        guard case .extended(let lease) = await write(.extend(lease: worker.lease.id, seconds: random.number(10...90)))
        else { return }
        workers[index] = Worker(lease: lease, events: worker.events)
    }

    private func release() async {
        expire()
        guard let index = workers.indices.randomElement(using: &random) else { return }
        _ = await write(.release(lease: workers.remove(at: index).lease.id))
    }

    // MARK: The end

    private func finish() async throws {
        for _ in 0..<10_000 where past.indices.contains(where: { !isOver($0) }) {
            try await pull()
            while !workers.isEmpty { try await acknowledge() }
            clock.advance(seconds: 10)
        }
        expire()
        for event in past.indices where !kills(event) && !past[event].isAcknowledged {
            throw Violation(description: "seed \(seed): event \(event) is lost, after \(past[event].attempts) attempts")
        }
        let exhausted = memory.read { $0.waiting.values.count { $0.state == .exhausted } }
        let deadly = past.indices.count(where: kills)
        if exhausted != deadly {
            throw Violation(description: "seed \(seed): \(exhausted) events were given up, not \(deadly)")
        }
    }
}
