import HeraldRuntime
import HeraldTestSupport
import Synchronization

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// The real writer and the real delivery engines on the test's thread, with receivers that the test plays and a clock that
/// it moves. Nothing waits: a week takes as long as what happens in it. `@unchecked`: one thread.
final class World: @unchecked Sendable {
    /// One callback, as its receiver saw it.
    struct Arrival: Equatable {
        let delegate: DelegateKey
        let event: String
        let attempt: Int
        var isReplay = false
        init(_ delegate: DelegateKey, _ event: String, _ attempt: Int = 1, isReplay: Bool = false) {
            self.delegate = delegate
            self.event = event
            self.attempt = attempt
            self.isReplay = isReplay
        }
    }

    let clock: ManualClock
    let store: RefusingStore
    let size: SimulatedProcess.Size
    private let shards: Shards
    /// The prefix of its ids.
    private let prefix: String
    private(set) var process: SimulatedProcess!
    /// The receiver's response; `nil`: the callback stays open.
    var answer: (Callback) -> CallbackOutcome? = { _ in .success }
    /// All that were started.
    private(set) var callbacks: [Callback] = []
    private var published = 0

    /// - Parameters:
    ///   - memory: the store, which worlds may share, like the clock.
    ///   - shards: those that it has from the start.
    ///   - prefix: of the ids of its events.
    ///   - node: by which it shares the delegates with other worlds; it has no shards at the start then.
    init(
        loops: Int = 1, maxRecentEvents: Int = 4_096, windowEvents: Int = 4_096, memory: MemoryStore = MemoryStore(),
        clock: ManualClock = ManualClock(), shards: Shards = .all, prefix: String = "e",
        node: UInt32? = nil, waiting: Int = LoopLimits().waitingDeliveries, part: Int = LoopLimits().partSize
    ) throws {
        store = RefusingStore(memory, node: node.map { NodeKey(rawValue: $0) })
        self.clock = clock
        self.shards = node == nil ? shards : []
        self.prefix = prefix
        size = .init(
            loops: loops, capacity: 1_000, maxRecentEvents: maxRecentEvents, windowEvents: windowEvents,
            waiting: waiting, part: part)
        try start()
    }

    /// A world with one delegate.
    static func registered(_ change: (inout WebhookSettings) -> Void = { _ in }) throws -> (World, DelegateKey) {
        let world = try World()
        return (world, world.register { change(&$0) })
    }

    private func start() throws {
        process = try SimulatedProcess(
            store, clock: clock.clock, size: size, shards: shards, random: { 0.5 },
            started: { [unowned self] in callbacks.append($0) },
            changed: { _ in })
    }

    // MARK: What the test asks for; done at once

    /// Their ids are `e1`, `e2`, …
    func publish(
        _ count: Int = 1, type: String = "a.x", subject: String? = nil, data: String = "{}",
        watch: DeliveryWatch? = nil
    ) {
        let drafts = (0..<count).map { _ in
            published += 1
            return EventDraft(
                event: Event(
                    id: "\(prefix)\(published)", type: type, subject: subject, time: clock.wall,
                    data: Array(data.utf8)), mayExist: false)
        }
        process.publish(drafts, watch: watch) { _ in }
        run()
    }

    /// Publishes, and lets it be stored and delivered.
    func publishAndSettle(
        _ count: Int = 1, type: String = "a.x", subject: String? = nil, data: String = "{}"
    ) {
        publish(count, type: type, subject: subject, data: data)
        settle()
    }

    @discardableResult
    func register(
        _ url: String = "https://receiver.example/", secret: SigningSecret = .test,
        _ change: (inout WebhookSettings) -> Void = { _ in }
    ) -> DelegateKey {
        let key = Recorder<DelegateKey>()
        process.change(.register(.init(settings: .made(url, change), secret: secret))) {
            if case .done(.registered(let delegate)) = $0 { key.record(delegate.key) }
        }
        run()
        let registered = key.items.first ?? 0
        // Its receiver is known to work: it may have all its requests open at once.
        for loop in process.loops {
            loop.engine.lane(registered)?.flow.prove(now: clock.now)
        }
        return registered
    }

    func update(_ key: DelegateKey, _ change: @escaping @Sendable (inout WebhookDelegate.State, _ now: Int64) -> Void) {
        guard let delegate = delegate(key) else { return }
        process.change(.update(id: delegate.id, ifVersion: nil) { state, now in change(&state, now) })
        run()
    }

    /// As `POST …/resume` does.
    func resume(_ key: DelegateKey) {
        update(key) { state, now in state.apply(.resumed, now: now) }
    }

    func remove(_ key: DelegateKey) {
        guard let delegate = delegate(key) else { return }
        process.change(.remove(id: delegate.id, ifVersion: nil))
        run()
    }

    @discardableResult
    func manage(_ action: DeliveryWrite.Action) -> DeliveryWrite.Outcome? {
        let outcomes = Recorder<DeliveryWrite.Outcome>()
        process.manage(action) { if case .done(let outcome) = $0 { outcomes.record(outcome) } }
        run()
        return outcomes.items.first
    }

    func manageAndSettle(_ action: DeliveryWrite.Action) {
        manage(action)
        settle()
    }

    /// Retention removes the events up to this one: those that no lane needs, and then, once the loops have ended their
    /// deliveries, the others.
    func trim(through event: LogPosition) {
        while let step = try? process.retain(event, in: store.makeReader(), now: clock.wall),
            step.ending != nil || step.write?.events.isEmpty == false || step.isPartial
        {
            advance(seconds: 0.2)
        }
        run()
    }

    func trimAndSettle(through event: LogPosition) {
        trim(through: event)
        settle()
    }

    /// The process dies and starts again. Open callbacks may have arrived or not.
    func crash() throws {
        try start()
        run()
    }

    /// A clean stop, with no patience for what is open.
    func restart() throws {
        for loop in process.loops {
            loop.engine.receive(.stop(deadline: 0))
            while !loop.engine.flush() {
                write()
                loop.readInbox()
            }
        }
        try start()
        run()
    }

    // MARK: Time

    /// Does all that can be done now.
    /// - Returns: when there is something to do next.
    @discardableResult
    func run() -> Int64? {
        while true {
            write()
            var isBusy = false
            var due: [Int64] = []
            for loop in process.loops {
                isBusy = isBusy || !loop.inbox.isEmpty || !loop.reads.isEmpty || !loop.rowReads.isEmpty
                loop.readInbox()
                while let query = loop.rowReads.popLast() {
                    loop.inbox.append(.rows(query.delegate, query.part, try? store.makeReader().rows(query)))
                }
                while let after = loop.reads.popLast() {
                    let page = try? store.makeReader().events(after: after, limit: 256, maxBytes: 1 << 20)
                    loop.inbox.append(.page(after: after, page))
                }
                if let next = loop.engine.turn() { due.append(next) }
                isBusy = finish(loop) || isBusy || !loop.inbox.isEmpty || !loop.reads.isEmpty || !loop.rowReads.isEmpty
            }
            if isBusy || process.unanswered > 0 || due.contains(where: { $0 <= clock.now }) { continue }
            return due.min()
        }
    }

    /// Lets time pass for several processes that share the delegates, each of which does what is due.
    static func advance(_ worlds: [World], seconds: Double) {
        guard let clock = worlds.first?.clock else { return }
        let end = clock.now + Int64(seconds * 1_000_000_000)
        while clock.now < end {
            clock.advance(to: min(end, clock.now + 100_000_000))
            for world in worlds { world.catchUp() }
        }
    }

    /// Looks what other processes have committed.
    func catchUp() {
        process.intake.catchUp()
        _ = process.writer.writeNext(&process.writerState)
        run()
    }

    /// Writes although no request waits for it.
    func writeNext() {
        process.unanswered += 1
        process.write()
        process.unanswered -= 1
    }

    /// Takes shards that no world has.
    func take(_ shards: Shards) throws {
        process.intake.catchUp()
        _ = process.writer.writeNext(&process.writerState)
        // Its loops have not routed the newest events yet.
        process.take(shards, try store.recover(shards))
        run()
    }

    /// - Returns: set when it has given them away.
    @discardableResult
    func give(_ shards: Shards, grace: Double = 10) -> Flag {
        let flag = Flag()
        let parts = Counter()
        for loop in process.loops {
            loop.inbox.append(
                .give(shards, deadline: clock.now + Int64(grace * 1e9)) { [count = size.loops] in
                    if parts.next() == count { flag.set() }
                })
        }
        run()
        return flag
    }

    private func write() { while process.unanswered > 0 { process.write() } }

    /// Ends what the receivers answer.
    /// - Returns: whether anything ended.
    private func finish(_ loop: SimulatedLoop) -> Bool {
        var hasEnded = false
        for callback in loop.sender.takeAborted() {
            loop.engine.finished(
                callback.token, CallbackOutcome(verdict: .failed(.stopped, detail: "aborted"), duration: 0))
            hasEnded = true
        }
        var index = 0
        while index < loop.sender.open.count {
            if let outcome = answer(loop.sender.open[index]) {
                loop.engine.finished(loop.sender.take(index).token, outcome)
                hasEnded = true
            } else {
                index += 1
            }
        }
        return hasEnded
    }

    /// Advances the time, and runs everything that is due.
    func advance(seconds: Double) {
        let end = clock.now + Int64(seconds * 1_000_000_000)
        while let next = run(), next <= end { clock.advance(to: next) }
        clock.advance(to: end)
        run()
    }

    /// Long enough for what has happened to be in the store.
    func settle() { advance(seconds: 1) }

    // MARK: What there is to see

    func delegate(_ key: DelegateKey) -> WebhookDelegate? { process.registry.delegate(key: key) }
    func status(_ key: DelegateKey) -> WebhookDelegate.Status? { delegate(key)?.status }

    /// Deliveries that were started.
    var arrivals: [Arrival] {
        callbacks.compactMap { callback in
            guard case .delivery(let isReplay) = callback.purpose else { return nil }
            return Arrival(callback.delegate.key, callback.event.id, callback.attempt, isReplay: isReplay)
        }
    }

    func arrivals(_ key: DelegateKey) -> [String] { arrivals.filter { $0.delegate == key }.map(\.event) }

    var open: [Callback] { process.loops.flatMap(\.sender.open) }

    /// The service's own events in the log, in order.
    var announced: [String] { announcements.map(\.type) }
    var announcements: [Event] { contents.events.filter { ServiceFamily.isOne($0.type) } }

    var contents: MemoryContents { store.memory.read { $0 } }

    func rows(_ key: DelegateKey) -> [WaitingDelivery] {
        contents.waiting.values.filter { $0.delegate == key }.sorted { $0.event < $1.event }
    }
}
