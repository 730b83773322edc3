import HeraldRuntime
import HeraldTestSupport
import Synchronization

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// The real writer and the real delivery engines on one thread, with a clock, receivers, a disk and crashes that a seed
/// decides on: the same seed is the same history, to the last step.
///
/// What it holds against them: every event is delivered to every delegate that was there before it, or exhausted;
/// nothing is delivered twice but what was in flight or not yet in a checkpoint at a crash, or was asked for again; what
/// the store says is settled is settled. Excepted is what was cancelled, erased, cut off the log, or of a delegate that was
/// gone. With strict order, nothing comes after a later event. `@unchecked`: one thread.
final class Simulation: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private enum Receiver: CaseIterable {
        case healthy, flaky, down, overloaded, leaving
        /// It refuses one type.
        case picky
    }

    let seed: UInt64
    private var random: SeededRandom
    private let clock = ManualClock()
    private let store = RefusingStore()
    private var process: SimulatedProcess!
    private var step = 0
    private var failure: Failure?
    private let size: SimulatedProcess.Size
    private let changesLoops: Bool

    private var receivers: [DelegateKey: Receiver] = [:]
    /// Every set of patterns that a delegate has had.
    private var patterns: [DelegateKey: [[EventPattern]]] = [:]
    private var schedules: [DelegateKey: Int] = [:]
    private var orders: [DelegateKey: Set<WebhookSettings.Ordering>] = [:]
    /// The last event that each delegate with strict order has got from its lane; after a crash, of those in the store.
    private var lastInOrder: [DelegateKey: LogPosition] = [:]
    private var cancelled: Set<DeliveryKey> = []
    /// Successful callbacks as the receivers saw them, and how many of these may be repetitions.
    private var received: [DeliveryKey: Int] = [:]
    private var mayRepeat: [DeliveryKey: Int] = [:]
    private var acknowledged: Set<String> = []
    /// Events that were in the log when some of it was cut off.
    private var sequences: [String: LogPosition] = [:]
    /// Retention has ended the deliveries of events up to here.
    private var ended: LogPosition = 0
    /// Delegates that were gone at some time, and lost what came then.
    private var wereGone: Set<DelegateKey> = []
    private var erased: Set<LogPosition> = []
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
            loops: random.number(1...3), capacity: random.number(1...40), maxRecentEvents: random.number(4...64),
            windowEvents: random.number(4...64), waiting: random.chance(0.7) ? random.number(8...40) : 10_000,
            part: random.chance(0.7) ? random.number(1...8) : LoopLimits().partSize)
        changesLoops = random.chance(0.5)
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
        case 16:
            switch random.number(0...9) {
            case 0..<2: if let one = anyDelegate() { process.change(.remove(id: one.id, ifVersion: nil)) }
            case 2..<8: manage()
            case 8 where random.chance(0.3): trim()
            default: break
            }
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
                event: Event(
                    Self.types[random.number(0...3)], id: "e\(published)",
                    subject: random.chance(0.3) ? nil : "s\(random.number(1...3))"), mayExist: random.chance(0.5))
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
            $0.ordering = WebhookSettings.Ordering.allCases.randomElement(using: &random)!
            if random.chance(0.2) { $0.rateLimit = Double(random.number(1...50)) }
            if random.chance(0.1) { $0.leaseSeconds = random.number(10...600) }
            if random.chance(0.1) { $0.verification = .challenge }
        }
        process.change(.register(.init(settings: settings, secret: .test)))
    }

    private func update() {
        guard let delegate = anyDelegate() else { return }
        let choice = random.number(0...9)
        let ordering = WebhookSettings.Ordering.allCases.randomElement(using: &random)!
        let patterns = Self.choices.randomElement(using: &random)!
        let maxInFlight = random.number(1...8)
        process.change(
            .update(id: delegate.id, ifVersion: nil) { state, now in
                switch choice {
                case 0: state.settings.events = patterns
                case 1: state.settings.maxInFlight = maxInFlight
                case 2: state.settings.ordering = ordering
                case 3: state.settings.url += "x"
                case 4: state.apply(.leaseRenewed, now: now)
                case 5..<8: state.apply(state.status == .paused ? .resumed : .paused, now: now)
                default: state.apply(.resumed, now: now)
                }
            })
    }

    /// Again, no more, from then to then, forget it.
    private func manage() {
        let head = store.memory.read { $0.head }
        guard head > 0, let delegate = anyDelegate() else { return }
        func event() -> LogPosition { LogPosition(random.number(1...Int(head))) }
        var query = DeliveryQuery(random.chance(0.5) ? [.retrying] : [.retrying, .exhausted, .dropped])
        query.limit = random.number(1...20)
        if random.chance(0.5) { query.delegate = delegate.key }
        switch random.number(0...6) {
        case 0: process.manage(.redeliver(query))
        case 1:
            let id = "e\(random.number(1...max(1, published)))"
            process.manage(.redeliverEvent(id: id, delegateID: random.chance(0.5) ? delegate.id : nil))
        case 2: process.manage(.cancel(query))
        case 3, 4:
            let after = event() - 1
            process.manage(
                .replay(delegateID: delegate.id, after: after, until: after + LogPosition(random.number(0...20))))
        case 5:
            let replays = store.memory.read { $0.replays.values.sorted { $0.id < $1.id } }
            guard let replay = replays.randomElement(using: &random),
                let owner = process.registry.delegate(key: replay.delegate)
            else { return }
            process.manage(.endReplay(delegateID: owner.id, replay: replay.id))
        default: process.manage(.erase((0..<random.number(1...4)).map { _ in event() }))
        }
    }

    private func trim() {
        let contents = store.memory.read { $0 }
        guard contents.head > 10 else { return }
        for (name, sequence) in contents.sequences { sequences[name.name] = sequence }
        let through = LogPosition(random.number(1...Int(contents.head) / 2))
        guard let step = try? process.retain(through, in: store.memory.makeReader(), now: clock.wall),
            let ending = step.ending
        else { return }
        ended = max(ended, ending.through)
    }

    /// Updates the model after a committed transaction.
    private func changed(_ effect: WriteEffect) {
        switch effect {
        case .set(let delegate):
            patterns[delegate.key, default: []].append(delegate.settings.events)
            schedules[delegate.key] = delegate.settings.retrySchedule.count
            orders[delegate.key, default: []].insert(delegate.settings.ordering)
            if delegate.status == .gone { wereGone.insert(delegate.key) }
        case .redelivered(let deliveries):
            for delivery in deliveries {
                mayRepeat[DeliveryKey(delegate: delivery.delegate, event: delivery.event), default: 0] += 1
            }
        case .dropped(let keys): cancelled.formUnion(keys)
        case .replay(let replay): allowRepetition(of: replay)
        case .erased(let events, _, _): erased.formUnion(events)
        case .trimmed:
            let kept = store.memory.read { $0.sequences }
            acknowledged = acknowledged.filter { kept[.init(app: .default, name: $0)] != nil }
        default: break
        }
    }

    private func allowRepetition(of replay: Replay) {
        for event in stride(from: replay.cursor + 1, through: replay.until, by: 1) {
            mayRepeat[DeliveryKey(delegate: replay.delegate, event: event), default: 0] += 1
        }
    }

    private func advance() {
        switch random.number(0...9) {
        case 0..<6: clock.advance(nanoseconds: Int64(random.number(1...200)) * 1_000_000)
        case 6..<9: clock.advance(seconds: Double(random.number(1...12)))
        default: clock.advance(seconds: Double(random.number(1...4000)))
        }
    }

    private func answerReads(_ loop: SimulatedLoop) {
        if !loop.rowReads.isEmpty {
            let query = loop.rowReads.remove(at: random.number(0...loop.rowReads.count - 1))
            loop.inbox.append(.rows(query.delegate, query.part, try? store.makeReader().rows(query)))
        }
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
        guard case .delivery = callback.purpose else { return call(loop, callback) }
        let isSuccess =
            switch receivers[callback.delegate.key] ?? .healthy {
            case .healthy: true
            case .flaky: random.chance(0.6)
            case .overloaded: random.chance(0.3)
            case .down, .leaving: false
            case .picky: callback.event.type != "a.x"
            }
        if isSuccess {
            let key = self.key(callback)
            received[key, default: 0] += 1
            process.unrecorded[key, default: 0] += 1
            checkRepetition(key)
            if isInOrder(key, callback.event) {
                lastInOrder[key.delegate] = max(lastInOrder[key.delegate] ?? 0, key.event)
            }
        }
        loop.engine.finished(callback.token, isSuccess ? .success : failure(receivers[callback.delegate.key]))
    }

    private func failure(_ receiver: Receiver?) -> CallbackOutcome {
        if receiver == .leaving { return .answered(410) }
        if receiver == .overloaded { return .answered(429, retryAfter: 7) }
        var outcome = CallbackOutcome.failure
        switch random.number(0...39) {
        case 0: outcome.control = .disable
        case 1: outcome.control = .abortMessage
        // It could not be made.
        case 2: return .failed(.stopped)
        case 3: return .failed(.timeout)
        default: break
        }
        return outcome
    }

    /// The receiver gives its consent, or doesn't.
    private func call(_ loop: SimulatedLoop, _ callback: Callback) {
        let agrees = receivers[callback.delegate.key].map { $0 == .healthy && random.chance(0.7) } ?? true
        loop.engine.finished(
            callback.token,
            CallbackOutcome(
                verdict: .answered(status: 200, retryAfter: nil), duration: 0,
                excerpt: agrees ? callback.event.body : []))
    }

    private func key(_ callback: Callback) -> DeliveryKey {
        let sequence = store.memory.read { $0.sequences[.init(app: callback.event.app, name: callback.event.id)] }
        return DeliveryKey(delegate: callback.delegate.key, event: sequence ?? sequences[callback.event.id] ?? 0)
    }

    // MARK: Lives

    private func start() throws {
        // No process starts with a store that can't be read.
        store.refuse(false)
        // Lanes may get to another loop, together with lanes that were at another position.
        let loops = changesLoops ? random.number(1...4) : size.loops
        process = try SimulatedProcess(
            store, clock: clock.clock, size: size.with(loops: loops),
            random: { [unowned self] in Double.random(in: 0..<1, using: &random) },
            started: { [unowned self] in started($0) },
            changed: { [unowned self] in changed($0) })
    }

    private func crash() throws {
        crashes += 1
        for (key, count) in process.unrecorded { mayRepeat[key, default: 0] += count }
        // A replay continues at its cursor.
        for replay in store.memory.read({ Array($0.replays.values) }) { allowRepetition(of: replay) }
        for loop in process.loops {
            for callback in loop.sender.open where callback.purpose != .test {
                let key = self.key(callback)
                mayRepeat[key, default: 0] += 1
                if random.chance(0.5) { received[key, default: 0] += 1 }
            }
        }
        lastInOrder = [:]
        for attempt in store.memory.read({ $0.attempts }) where attempt.record.succeeded {
            let key = DeliveryKey(delegate: attempt.record.delegate, event: attempt.record.event)
            if mayRepeat[key] == nil { lastInOrder[key.delegate] = max(lastInOrder[key.delegate] ?? 0, key.event) }
        }
        try checkStore()
        try start()
    }

    private func stopAndStart() throws {
        store.refuse(false)
        for loop in process.loops { loop.engine.receive(.stop(deadline: 0)) }
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
        for _ in 0..<20_000 {
            for delegate in process.registry.list(.default)
            where delegate.status == .paused || delegate.status == .disabled {
                process.change(
                    .update(id: delegate.id, ifVersion: nil) { state, now in state.apply(.resumed, now: now) })
            }
            while process.unanswered > 0 { process.write() }
            var due: [Int64] = []
            var isBusy = false
            for loop in process.loops {
                loop.readInbox()
                while !loop.reads.isEmpty || !loop.rowReads.isEmpty { answerReads(loop) }
                if let next = loop.engine.turn() { due.append(next) }
                while !loop.sender.open.isEmpty {
                    finish(loop, loop.sender.take(0))
                    isBusy = true
                }
                isBusy = isBusy || !loop.inbox.isEmpty || !loop.reads.isEmpty || !loop.rowReads.isEmpty
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
        guard case .delivery = callback.purpose else { return }
        starts += 1
        let key = self.key(callback)
        let delegate = callback.delegate
        let senders = process.loops.map(\.sender)
        let together = senders.flatMap(\.open).filter { $0.delegate.key == delegate.key && $0.purpose != .test }
        let open = together.count
        if delegate.settings.ordering == .strict && open > 1 { failure = fail("\(open) open of a strict delegate") }
        if delegate.settings.ordering == .subject, let subject = callback.event.subject,
            together.count(where: { $0.event.subject == subject }) > 1
        {
            failure = fail("two open about \(subject)")
        }
        // Requests that hang do not count, up to three times as many.
        let most = delegate.settings.maxInFlight
        if open > (most == 1 ? 1 : 4 * most) { failure = fail("\(open) requests open to \(delegate.id)") }
        if senders.contains(where: { $0.open.count > $0.capacity }) { failure = fail("more open than the capacity") }
        if delegate.status != .active { failure = fail("a delegate was called that is \(delegate.status)") }
        if key.event <= delegate.start && mayRepeat[key] == nil {
            failure = fail("\(key) lies before the registration")
        }
        if mayRepeat[key] == nil,
            !(patterns[key.delegate] ?? []).contains(where: { $0.contains { $0.matches(callback.event.type) } })
        {
            failure = fail("\(key) was never wanted")
        }
        if let last = lastInOrder[key.delegate], key.event < last, isInOrder(key, callback.event) {
            failure = fail("\(key) was sent after \(last)")
        }
    }

    /// Whether only its lane sends the event to a delegate that has always had strict order.
    private func isInOrder(_ key: DeliveryKey, _ event: Event) -> Bool {
        orders[key.delegate, default: []] == [.strict] && key.event > ended && mayRepeat[key] == nil
            && !cancelled.contains(key) && !wereGone.contains(key.delegate) && isAlwaysWanted(event, by: key.delegate)
    }

    private func checkRepetition(_ key: DeliveryKey) {
        // What was asked for again may lie before the registration, or not have been wanted.
        if received[key]! > 1 + (mayRepeat[key] ?? 0) {
            failure = fail("\(key) was delivered \(received[key]!) times, \(mayRepeat[key] ?? 0) repetitions allowed")
        }
    }

    private func isAlwaysWanted(_ event: Event, by key: DelegateKey) -> Bool {
        (patterns[key] ?? []).allSatisfy { $0.contains { $0.matches(event.type) } }
    }

    /// Checks that settled events are delivered, or have a row.
    private func checkStore() throws {
        let contents = store.memory.read { $0 }
        let succeeded = Set(
            contents.attempts.lazy.filter(\.record.succeeded)
                .map { DeliveryKey(delegate: $0.record.delegate, event: $0.record.event) })
        for (key, delegate) in contents.delegates {
            let cursor = contents.lanes[key]?.cursor ?? contents.settledPositions[key]
            if wereGone.contains(key) { continue }
            for sequence in stride(from: max(contents.first, ended + 1, delegate.start + 1), through: cursor, by: 1) {
                guard let event = contents.event(sequence), !event.isErased, isAlwaysWanted(event, by: key) else {
                    continue
                }
                let delivery = DeliveryKey(delegate: key, event: sequence)
                if !succeeded.contains(delivery) && contents.waiting[delivery] == nil {
                    throw fail("the store has lost \(delivery): cursor \(cursor), settled \(contents.settled)")
                }
            }
        }
        for id in acknowledged where contents.sequences[.init(app: .default, name: id)] == nil {
            throw fail("the acknowledged event \(id) is lost")
        }
        if contents.attempts.contains(where: { erased.contains($0.record.event) }) {
            throw fail("an erased event has an attempt")
        }
        let known = Set(contents.delegates.keys)
        if !known.isSuperset(of: contents.lanes.keys) { throw fail("a removed delegate has a lane") }
        if !known.isSuperset(of: contents.waiting.keys.map(\.delegate)) { throw fail("a removed delegate has retries") }
    }

    private func checkEnd() throws {
        let contents = store.memory.read { $0 }
        for (key, delegate) in contents.delegates {
            for (index, event) in contents.events.enumerated() {
                let delivery = DeliveryKey(delegate: key, event: contents.first + LogPosition(index))
                if delivery.event <= ended || contents.event(delivery.event) == nil { continue }
                let row = contents.waiting[delivery]
                if let row, row.state == .retrying { throw fail("\(delivery) still waits") }
                // Fewer when it alone failed for longer than the schedule lasts: probes are not counted.
                if let row, row.state == .exhausted, row.attempts - row.uncounted > schedules[key]! + 1 {
                    throw fail("\(delivery) gave up after \(row.attempts)")
                }
                if delivery.event <= delegate.start || wereGone.contains(key) || event.isErased { continue }
                if isAlwaysWanted(event, by: key), received[delivery] == nil, row == nil {
                    throw fail("\(delivery) was never delivered")
                }
            }
        }
        if !contents.lanes.isEmpty { throw fail("\(contents.lanes.count) lanes keep a row at rest") }
        for row in contents.waiting.values where erased.contains(row.event) {
            throw fail("\(row) is of an erased event")
        }
        let attempts = contents.attempts.map {
            (DeliveryKey(delegate: $0.record.delegate, event: $0.record.event), $0.record)
        }
        let last = Dictionary(attempts) { $1 }
        for (key, row) in contents.waiting where row.state == .exhausted {
            if let record = last[key], record.succeeded, record.isReplay { throw fail("\(key) was replayed: \(row)") }
        }
        // One that was given up while its event was cut off goes with the next cut.
        for row in contents.waiting.values where row.event < contents.first && row.state == .retrying {
            throw fail("\(row) is of an event that was cut off")
        }
        if !contents.replays.isEmpty { throw fail("\(contents.replays.count) replays have not ended") }
        if contents.settled != contents.head { throw fail("settled up to \(contents.settled) of \(contents.head)") }
        repetitions = received.values.reduce(0) { $0 + $1 - 1 }
    }
}
