import HeraldRuntime
import HeraldTestSupport
import Synchronization

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// A delivery engine on a bench: every turn, page, checkpoint and answer is a step of the test.
final class EngineBench {
    let clock = ManualClock()
    let sender: MemorySender
    private let recentEvents: RecentEvents
    private(set) var engine: DeliveryEngine!
    private(set) var log: [Event] = []
    /// Positions after which pages were asked for.
    var reads: [LogPosition] = []
    /// Checkpoints that were handed over and not answered yet.
    var submitted: [Checkpoint] = []

    /// - Parameters:
    ///   - delegates: set at once.
    ///   - count: of events that are published then.
    init(
        _ delegates: WebhookDelegate..., capacity: Int = 1_000, settled: LogPosition = 0, maxRecentEvents: Int = 16_384,
        windowEvents: Int = 8_192, backlog: Int = 0, publishing count: Int = 0
    ) throws {
        let clock = self.clock
        sender = try MemorySender(capacity: capacity, clock: clock.clock) { _ in .manual }
        recentEvents = RecentEvents(head: LogPosition(backlog), maxEvents: maxRecentEvents)
        log = (0..<backlog).map { Event("a.x", id: "e\($0 + 1)") }
        engine = DeliveryEngine(
            ports: .init(
                sender: sender, recentEvents: recentEvents, clock: clock.clock,
                readPage: { [unowned self] in reads.append($0) },
                submit: { [unowned self] in submitted.append($0) }, random: { 0.5 },
                makeID: { "evt_call" }, runMaintenance: nil),
            settled: settled, limits: .window(windowEvents))
        for delegate in delegates { set(delegate) }
        if count > 0 { publishAndTurn(count) }
    }

    /// Adds a delegate whose receiver is known to work: it may have all its requests open at once. Or changes it.
    func set(_ delegate: WebhookDelegate, restored: LaneKeeper.Restored? = nil) {
        let isNew = engine.lane(delegate.key) == nil && delegate.state.failingSince == nil
        engine.set(delegate, restored: restored)
        if isNew { engine.lane(delegate.key)?.flow.prove(now: clock.now) }
    }

    /// Appends events to the log; their ids are `e` and their sequence.
    func publish(_ count: Int = 1, type: String = "a.x", subject: String? = nil, app: AppKey = .default) {
        let events = (0..<count).map { Event(type, id: "e\(log.count + 1 + $0)", subject: subject, app: app) }
        recentEvents.published(EventBatch(first: LogPosition(log.count) + 1, events: events))
        log += events
    }

    func publishAndTurn(
        _ count: Int = 1, type: String = "a.x", subject: String? = nil, app: AppKey = .default
    ) {
        publish(count, type: type, subject: subject, app: app)
        turn()
    }

    /// Turns until there is nothing more to do now.
    @discardableResult
    func turn() -> Int64? {
        while true {
            guard let next = engine.turn() else { return nil }
            if next > clock.now { return next }
        }
    }

    /// Lets time pass, and does what is due.
    func advance(seconds: Double) {
        clock.advance(seconds: seconds)
        turn()
    }

    struct Attempt: Equatable {
        let delegate: DelegateKey
        let event: LogPosition
        let number: Int
        init(_ delegate: DelegateKey, _ event: LogPosition, _ number: Int = 1) {
            self.delegate = delegate
            self.event = event
            self.number = number
        }
        fileprivate init(_ callback: Callback) {
            self.init(callback.delegate.key, LogPosition(callback.event.id.dropFirst())!, callback.attempt)
        }
    }

    /// The open attempts, by delegate and event.
    var open: [Attempt] {
        sender.open.map(Attempt.init).sorted { ($0.delegate, $0.event) < ($1.delegate, $1.event) }
    }

    func open(_ delegate: DelegateKey) -> [LogPosition] { open.filter { $0.delegate == delegate }.map(\.event) }

    /// The loop receives requests of one transaction, and that it has all of them.
    func request(_ messages: LoopMessage...) {
        for message in messages { engine.receive(message) }
        engine.receive(.known(change: .max))
    }

    /// Ends the attempts that are open (of one delegate, or of one event only).
    @discardableResult
    func finish(_ delegate: DelegateKey? = nil, event: LogPosition? = nil, with outcome: CallbackOutcome = .success)
        -> Int
    {
        let ending = sender.open.filter {
            let attempt = Attempt($0)
            return delegate.map { $0 == attempt.delegate } ?? true && event.map { $0 == attempt.event } ?? true
        }
        for callback in ending { sender.finish(callback.token, outcome) }
        sender.poll(nanoseconds: 0) { engine.finished($0, $1) }
        return ending.count
    }

    /// Ends the open attempt that started last.
    func finishNewest(with outcome: CallbackOutcome) throws {
        guard let newest = sender.open.max(by: { $0.token < $1.token }) else { throw Unexpected("nothing is open") }
        sender.finish(newest.token, outcome)
        sender.poll(nanoseconds: 0) { engine.finished($0, $1) }
    }

    func finishAndTurn(
        _ delegate: DelegateKey? = nil, event: LogPosition? = nil, with outcome: CallbackOutcome = .success
    ) {
        finish(delegate, event: event, with: outcome)
        turn()
    }

    var delivered: Int { engine.counters.succeeded.load(ordering: .relaxed) }
    var givenUp: Int { engine.counters.gaveUp.load(ordering: .relaxed) }

    /// Turns and reports success until nothing is open.
    func deliverAll() {
        turn()
        while finish() > 0 { turn() }
    }

    /// Answers the pages that were asked for, as a store with the whole log would.
    func answerReads(limit: Int = PageCache.eventsPerPage) {
        let reads = self.reads
        self.reads = []
        for after in reads {
            let events = Array(log.dropFirst(Int(after)).prefix(limit))
            engine.receive(.page(after: after, EventBatch(first: after + 1, events: events)))
        }
    }

    /// Lets the next checkpoint become due, and answers it.
    func checkpoint(succeeds: Bool = true) -> Checkpoint? {
        clock.advance(nanoseconds: CheckpointBuilder.interval)
        turn()
        guard let checkpoint = submitted.popLast() else { return nil }
        engine.receive(.checkpointEnded(succeeds))
        return checkpoint
    }

    /// Ends checkpoints with success until nothing is left to write.
    @discardableResult
    func written() -> [Checkpoint] {
        var written: [Checkpoint] = []
        while let checkpoint = checkpoint() { written.append(checkpoint) }
        return written
    }
}

extension FlowControl {
    /// The receiver has answered many requests.
    mutating func prove(now: Int64) {
        let limits = Limits(maxInFlight: 256, rateLimit: nil, patience: 5 * 86_400_000)
        for _ in 0..<8 { _ = succeeded(started(limits, now: now), limits, now: now) }
    }
}

extension LoopLimits {
    /// With so many recent events for the lanes.
    static func window(
        _ events: Int, positionInterval: Int64 = 0, waiting: Int = Self().waitingDeliveries,
        part: Int = Self().partSize
    ) -> Self {
        var limits = Self()
        limits.recentEvents = events
        limits.positionInterval = positionInterval
        limits.waitingDeliveries = waiting
        limits.partSize = part
        return limits
    }
}
