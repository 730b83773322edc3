import Runtime
import Synchronization

@testable import Herald

/// The real writer and the real delivery engines on one thread, with a clock, receivers, a disk and crashes that a seed
/// decides on: the same seed is the same history, to the last step.
///
/// What it holds against them: every event is delivered to every delegate that was there before it, or exhausted;
/// nothing is delivered twice but what was in flight or not yet in a checkpoint at a crash; what the store says is
/// settled is settled. `@unchecked`: one thread.
final class Simulation: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private enum Receiver: CaseIterable {
        case healthy, flaky, down
    }

    let seed: UInt64
    private var random: SeededRandom
    private let clock = ManualClock()
    private let store = RefusingStore()
    private var process: SimulatedProcess!
    private var step = 0
    private var failure: Failure?
    private let size: SimulatedProcess.Size

    private var receivers: [DelegateKey: Receiver] = [:]
    /// Every set of patterns that a delegate has had.
    private var patterns: [DelegateKey: [[EventPattern]]] = [:]
    private var schedules: [DelegateKey: Int] = [:]
    /// Successful callbacks as the receivers saw them, and how many of these may be repetitions.
    private var received: [DeliveryKey: Int] = [:]
    private var mayRepeat: [DeliveryKey: Int] = [:]
    private var acknowledged: Set<String> = []
    private var published = 0
    private var registered = 0
    private(set) var starts = 0
    private(set) var repetitions = 0
    private(set) var crashes = 0

    private static let types = ["a.x", "a.y", "b.x", "b.y.z"]
    private static let choices: [[EventPattern]] = [
        [.any], [.prefix("a.")], [.exact("a.x"), .exact("b.x")], [.prefix("b."), .exact("b.y.z")],
    ]

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededRandom(seed: seed)
        size = SimulatedProcess.Size(
            loops: random.number(1...3), capacity: random.number(1...40), tailEvents: random.number(4...64),
            recentEvents: random.number(4...64))
        try start()
    }

    /// Runs random steps, lets everything come to rest, and checks.
    func run(steps: Int) throws {
        for _ in 0..<steps {
            step += 1
            try act()
            if let failure { throw failure }
        }
        try rest()
        try checkStore()
        try checkEnd()
        let before = starts
        try stopAndStart()
        try rest()
        if starts != before { throw fail("\(starts - before) deliveries were repeated after a clean stop") }
    }

    // MARK: Steps

    private func act() throws {
        if store.isRefusing && random.chance(0.1) { store.refuse(false) }
        switch random.number(0...99) {
        case 0..<10: publish()
        case 10..<14 where random.chance(step < 40 ? 1 : 0.2): register()
        case 14..<16: update()
        case 16 where random.chance(0.2):
            if let one = anyDelegate() { process.change(.remove(id: one.id, ifVersion: nil)) }
        case 17..<40: process.write()
        case 40..<50: anyLoop().readInbox()
        case 50..<64: _ = anyLoop().engine.turn()
        case 64..<80: for _ in 0..<random.number(1...12) { finishAny(anyLoop()) }
        case 80..<86: answerReads(anyLoop())
        case 86..<94: advance()
        case 94..<96:
            if let one = anyDelegate() { receivers[one.key] = Receiver.allCases.randomElement(using: &random) }
        case 96 where random.chance(0.5): store.refuse(true)
        case 97 where random.chance(0.3): try stopAndStart()
        case 98 where random.chance(0.5): try crash()
        default:
            for loop in process.loops {
                loop.readInbox()
                _ = loop.engine.turn()
            }
        }
    }

    private func anyLoop() -> SimulatedLoop { process.loops[random.number(0...process.loops.count - 1)] }
    private func anyDelegate() -> WebhookDelegate? { process.registry.list(.default).randomElement(using: &random) }

    private func publish() {
        let drafts = (0..<random.number(1...8)).map { _ in
            published += 1
            return EventDraft(
                event: Event(Self.types[random.number(0...3)], id: "e\(published)"), mayExist: random.chance(0.5))
        }
        process.publish(drafts) { [self] result in
            if case .done(let posted) = result { for one in posted { acknowledged.insert(one.event.id) } }
        }
    }

    private func register() {
        guard process.registry.count < 12 else { return }
        registered += 1
        let schedules: [[Double]] = [WebhookSettings.defaultRetrySchedule, [1, 2], [5], []]
        let settings = WebhookSettings.made("https://receiver.example/\(registered)") {
            $0.events = Self.choices.randomElement(using: &random)!
            $0.maxInFlight = random.number(1...8)
            $0.retrySchedule = schedules.randomElement(using: &random)!
        }
        process.change(.register(.init(settings: settings, secret: .test)))
    }

    private func update() {
        guard let delegate = anyDelegate() else { return }
        let choice = random.number(0...3)
        let patterns = Self.choices.randomElement(using: &random)!
        let maxInFlight = random.number(1...8)
        process.change(
            .update(id: delegate.id, ifVersion: nil) { state, _ in
                switch choice {
                case 0: state.settings.events = patterns
                case 1: state.settings.maxInFlight = maxInFlight
                default: state.status = state.status == .paused ? .active : .paused
                }
            })
    }

    private func advance() {
        switch random.number(0...9) {
        case 0..<6: clock.advance(nanoseconds: Int64(random.number(1...200)) * 1_000_000)
        case 6..<9: clock.advance(seconds: Double(random.number(1...12)))
        default: clock.advance(seconds: Double(random.number(1...4000)))
        }
    }

    private func answerReads(_ loop: SimulatedLoop) {
        guard !loop.reads.isEmpty else { return }
        let after = loop.reads.remove(at: random.number(0...loop.reads.count - 1))
        let page = try? store.makeReader().events(after: after, limit: random.number(1...20), maxBytes: 1 << 20)
        loop.inbox.append(.page(after: after, page))
    }

    private func finishAny(_ loop: SimulatedLoop) {
        guard !loop.sender.open.isEmpty else { return }
        finish(loop, loop.sender.take(random.number(0...loop.sender.open.count - 1)))
    }

    private func finish(_ loop: SimulatedLoop, _ callback: Callback) {
        let isSuccess =
            switch receivers[callback.delegate.key] ?? .healthy {
            case .healthy: true
            case .flaky: random.chance(0.6)
            case .down: false
            }
        if isSuccess {
            let key = self.key(callback)
            received[key, default: 0] += 1
            process.unrecorded.insert(key)
            checkRepetition(key)
        }
        loop.engine.finished(
            callback.token, isSuccess ? .success : random.chance(0.2) ? .answered(503, retryAfter: 7) : .failure)
    }

    private func key(_ callback: Callback) -> DeliveryKey {
        let sequence = store.memory.read { $0.sequences[.init(app: callback.event.app, id: callback.event.id)] }
        return DeliveryKey(delegate: callback.delegate.key, event: sequence ?? 0)
    }

    // MARK: Lives

    private func start() throws {
        process = try SimulatedProcess(
            store, clock: clock.clock, size: size,
            random: { [unowned self] in Double.random(in: 0..<1, using: &random) },
            started: { [unowned self] in started($0) },
            changed: { [unowned self] delegate in
                patterns[delegate.key, default: []].append(delegate.settings.events)
                schedules[delegate.key] = delegate.settings.retrySchedule.count
            })
    }

    private func crash() throws {
        crashes += 1
        for key in process.unrecorded { mayRepeat[key, default: 0] += 1 }
        for loop in process.loops {
            for callback in loop.sender.open {
                let key = self.key(callback)
                mayRepeat[key, default: 0] += 1
                if random.chance(0.5) { received[key, default: 0] += 1 }
            }
        }
        try checkStore()
        try start()
    }

    private func stopAndStart() throws {
        store.refuse(false)
        for loop in process.loops { loop.engine.stopStarting() }
        for loop in process.loops {
            while !loop.sender.open.isEmpty { finish(loop, loop.sender.take(0)) }
            var rounds = 0
            while !loop.engine.flush() {
                rounds += 1
                if rounds > 100 { throw fail("the last checkpoint does not end") }
                while process.unanswered > 0 { process.write() }
                loop.readInbox()
            }
        }
        while process.unanswered > 0 { process.write() }
        if !process.unrecorded.isEmpty { throw fail("\(process.unrecorded.count) successes are in no checkpoint") }
        try checkStore()
        try start()
    }

    /// Everything is well from here on: lets time pass until nothing is left to do.
    private func rest() throws {
        store.refuse(false)
        receivers = [:]
        while process.unanswered > 0 { process.write() }
        for delegate in process.registry.list(.default) where delegate.status == .paused {
            process.change(.update(id: delegate.id, ifVersion: nil) { state, _ in state.status = .active })
        }
        for _ in 0..<20_000 {
            while process.unanswered > 0 { process.write() }
            var due: [Int64] = []
            var isBusy = false
            for loop in process.loops {
                loop.readInbox()
                while !loop.reads.isEmpty { answerReads(loop) }
                if let next = loop.engine.turn() { due.append(next) }
                while !loop.sender.open.isEmpty {
                    finish(loop, loop.sender.take(0))
                    isBusy = true
                }
                isBusy = isBusy || !loop.inbox.isEmpty || !loop.reads.isEmpty
            }
            if let failure { throw failure }
            if isBusy || process.unanswered > 0 { continue }
            guard let next = due.min() else { return }
            clock.advance(to: next)
        }
        throw fail("it does not come to rest")
    }

    // MARK: Checks

    var summary: String {
        "seed \(seed): \(published) events, \(registered) registrations, \(starts) attempts, \(crashes) crashes, "
            + "\(repetitions) repetitions of \(mayRepeat.values.reduce(0, +)) allowed"
    }

    private func fail(_ what: String) -> Failure {
        Failure(description: "HERALD_SEED=\(seed): step \(step), life \(crashes + 1): \(what)")
    }

    private func started(_ callback: Callback) {
        starts += 1
        let key = self.key(callback)
        let delegate = callback.delegate
        let senders = process.loops.map(\.sender)
        let open = senders.reduce(0) { $0 + $1.open.count { $0.delegate.key == delegate.key } }
        if open > delegate.settings.maxInFlight { failure = fail("\(open) requests open to \(delegate.id)") }
        if senders.contains(where: { $0.open.count > $0.capacity }) { failure = fail("more open than the capacity") }
        if delegate.status == .paused { failure = fail("a paused delegate was called") }
        if key.event <= delegate.start { failure = fail("\(key) lies before the registration") }
        if !(patterns[key.delegate] ?? []).contains(where: { $0.contains { $0.matches(callback.event.type) } }) {
            failure = fail("\(key) was never wanted")
        }
    }

    private func checkRepetition(_ key: DeliveryKey) {
        if received[key]! > 1 + (mayRepeat[key] ?? 0) {
            failure = fail("\(key) was delivered \(received[key]!) times, \(mayRepeat[key] ?? 0) repetitions allowed")
        }
    }

    private func isAlwaysWanted(_ event: Event, by key: DelegateKey) -> Bool {
        (patterns[key] ?? []).allSatisfy { $0.contains { $0.matches(event.type) } }
    }

    /// What the store says is settled is delivered, or has a row.
    private func checkStore() throws {
        let contents = store.memory.read { $0 }
        let succeeded = Set(
            contents.attempts.lazy.filter(\.record.succeeded)
                .map { DeliveryKey(delegate: $0.record.delegate, event: $0.record.event) })
        for (key, delegate) in contents.delegates {
            let cursor = contents.lanes[key]?.cursor ?? contents.settled
            for sequence in stride(from: delegate.start + 1, through: cursor, by: 1) {
                guard isAlwaysWanted(contents.events[Int(sequence) - 1], by: key) else { continue }
                let delivery = DeliveryKey(delegate: key, event: sequence)
                if !succeeded.contains(delivery) && contents.waiting[delivery] == nil {
                    throw fail("the store has lost \(delivery): cursor \(cursor), settled \(contents.settled)")
                }
            }
        }
        for id in acknowledged where contents.sequences[.init(app: .default, id: id)] == nil {
            throw fail("the acknowledged event \(id) is lost")
        }
        let known = Set(contents.delegates.keys)
        if !known.isSuperset(of: contents.lanes.keys) { throw fail("a removed delegate has a lane") }
        if !known.isSuperset(of: contents.waiting.keys.map(\.delegate)) { throw fail("a removed delegate has retries") }
    }

    private func checkEnd() throws {
        let contents = store.memory.read { $0 }
        for (key, delegate) in contents.delegates {
            for (index, event) in contents.events.enumerated() where Sequence(index + 1) > delegate.start {
                let delivery = DeliveryKey(delegate: key, event: Sequence(index + 1))
                let row = contents.waiting[delivery]
                if let row, row.state == .retrying { throw fail("\(delivery) still waits") }
                if let row, row.attempts != schedules[key]! + 1 {
                    throw fail("\(delivery) gave up after \(row.attempts)")
                }
                if isAlwaysWanted(event, by: key), received[delivery] == nil, row == nil {
                    throw fail("\(delivery) was never delivered")
                }
            }
        }
        if !contents.lanes.isEmpty { throw fail("\(contents.lanes.count) lanes keep a row at rest") }
        if contents.settled != Sequence(contents.events.count) {
            throw fail("settled up to \(contents.settled) of \(contents.events.count)")
        }
        repetitions = received.values.reduce(0) { $0 + $1 - 1 }
    }
}
