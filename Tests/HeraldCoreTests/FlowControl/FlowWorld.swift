import Foundation
import HeraldRuntime
import HeraldTestSupport

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

extension Double {
    /// The logarithm of a random number between 0 and 1: negative, mean -1.
    static func logOfUnit(_ random: inout SeededRandom) -> Double { log(Double.random(in: 1e-12..<1, using: &random)) }
}

/// The real delivery engine before simulated receivers, with a clock that jumps from one event to the next. One thread.
final class FlowWorld {
    /// The results of one lane.
    struct Record {
        /// By second: deliveries that succeeded for the first time, and attempts.
        var useful: [Int] = []
        var attempts: [Int] = []
        /// Seconds from publishing to success.
        var latencies: [Double] = []
        var firstUseful: Double?
        /// The events that succeeded, in the order of their success.
        var order: [LogPosition] = []

        func useful(from: Int, to: Int) -> Double { Self.rate(useful, from, to) }
        func attempts(from: Int, to: Int) -> Double { Self.rate(attempts, from, to) }

        private static func rate(_ counts: [Int], _ from: Int, _ to: Int) -> Double {
            Double((from..<to).reduce(0) { $0 + (counts.indices.contains($1) ? counts[$1] : 0) }) / Double(to - from)
        }

        func percentile(_ share: Double) -> Double {
            let sorted = latencies.sorted()
            return sorted.isEmpty ? .infinity : sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
        }
    }

    struct Lane {
        var receiver: SimulatedReceiver
        /// Events offered a second, at random times.
        var rate: Double
        /// The lane whose receiver answers for this one, too; `nil`: it has its own.
        var host: Int?
        var app = AppKey.default
        /// There from the start.
        var backlog = 0
        /// Retries that were due before the start.
        var retries = 0
        var subject: ((inout SeededRandom) -> String)?
        /// The last part of an event's type, if it has one.
        var kind: ((inout SeededRandom) -> String)?
        /// The fault of a single request, besides those of the receiver.
        var trouble: (Event) -> SimulatedReceiver.Trouble? = { _ in nil }
        var change: (inout WebhookSettings) -> Void = { _ in }
    }

    private struct Arrival { let lane: Int }

    let clock = ManualClock()
    private let started: Int64
    private(set) var engine: DeliveryEngine!
    private var sender: FlowSender!
    private let recentEvents: RecentEvents
    private var log: [(event: Event, time: Double, lane: Int)] = []
    private var arrivals = TimerQueue<Arrival>()
    private var pages: [LogPosition] = []
    private var checkpoints: [Checkpoint] = []
    private var rowReads: [StoredRowsQuery] = []
    private var rows = StoredRowsTable()
    private var random: SeededRandom
    private var lanes: [Lane]
    private var delivered: Set<DeliveryKey> = []
    private(set) var records: [Record]
    /// Changes of breakers and the like, as the writer is told.
    private(set) var notices: [DeliveryNotice] = []
    /// Requests open, by second: the most.
    private(set) var mostOpen: [Int] = []
    /// When first attempts are recorded from; seconds.
    var recordsLatencyFrom = 0.0

    var time: Double { Double(clock.now - started) / 1e9 }

    /// - Parameter waiting: the deliveries of one lane that wait for a retry and are in memory.
    init(
        seed: UInt64, capacity: Int = 4_096, waiting: Int = LoopLimits().waitingDeliveries, lanes: [Lane]
    ) {
        started = clock.now
        random = SeededRandom(seed: seed)
        self.lanes = lanes
        records = Array(repeating: Record(), count: lanes.count)
        recentEvents = RecentEvents(head: 0, maxEvents: 16_384)
        sender = FlowSender(capacity: capacity) { [unowned self] in begin($0) }
        engine = DeliveryEngine(
            ports: .init(
                sender: sender, recentEvents: recentEvents, clock: clock.clock,
                readPage: { [unowned self] in pages.append($0) },
                readRows: { [unowned self] in rowReads.append($0) },
                submit: { [unowned self] in
                    notices += $0.notices
                    checkpoints.append($0)
                }, random: { [unowned self] in Double.random(in: 0..<1, using: &random) }, makeID: { "evt_call" },
                runMaintenance: nil),
            settled: 0, limits: .window(8_192, waiting: waiting))
        for (index, lane) in lanes.enumerated() {
            let key = DelegateKey(index + 1)
            let delegate = WebhookDelegate(
                key, url: "https://host\(lane.host ?? index).example/\(index)", app: lane.app
            ) { settings in
                settings.events = [lane.kind == nil ? .exact("lane.l\(index)") : .prefix("lane.l\(index).")]
                lane.change(&settings)
            }
            engine.set(delegate, restored: restored(index, key))
        }
        for (index, lane) in lanes.enumerated() {
            if lane.backlog > 0 { publish(lane.backlog, to: index) }
            if lane.rate > 0 { planArrival(index) }
        }
    }

    /// The state of a lane with retries, whose events are published here.
    private func restored(_ index: Int, _ key: DelegateKey) -> LaneKeeper.Restored? {
        guard lanes[index].retries > 0 else { return nil }
        let first = LogPosition(log.count) + 1
        publish(lanes[index].retries, to: index)
        let last = LogPosition(log.count)
        let waiting = (first...last).map {
            WaitingDelivery(delegate: key, event: $0, attempts: 1, dueAt: 0, state: .retrying)
        }
        for row in waiting { rows.set(row) }
        return .init(position: LanePosition(delegate: key, cursor: last, position: last), waiting: waiting)
    }

    // MARK: Time

    /// Lets the world go on until then, in seconds since the start.
    func run(until end: Double) {
        let end = started + Int64(end * 1e9)
        while true {
            settle()
            let next = engine.turn()
            if answerStore() { continue }
            if let next, next <= clock.now { continue }
            let due = [next, sender.nextDue, arrivals.nextDue, end].compactMap { $0 }.min() ?? end
            clock.advance(to: due)
            if clock.now >= end { return settle() }
            while let arrival = arrivals.popDue(now: clock.now) {
                publish(1, to: arrival.lane)
                planArrival(arrival.lane)
            }
        }
    }

    private func settle() { sender.end(now: clock.now) { engine.finished($0, $1) } }

    /// - Returns: whether the engine had asked for something.
    private func answerStore() -> Bool {
        let wanted = pages
        let isAsked = !wanted.isEmpty || !checkpoints.isEmpty || !rowReads.isEmpty
        pages = []
        for after in wanted {
            let events = log.dropFirst(Int(after)).prefix(PageCache.eventsPerPage).map(\.event)
            engine.receive(.page(after: after, EventBatch(first: after + 1, events: Array(events))))
        }
        while !checkpoints.isEmpty {
            rows.apply(checkpoints.removeFirst())
            engine.receive(.checkpointEnded(true))
        }
        while let query = rowReads.popLast() {
            let found = rows.find(query) { [log] in log[Int($0) - 1].event.subject }
            engine.receive(.rows(query.delegate, query.part, found))
        }
        return isAsked
    }

    // MARK: Events

    func stopPublishing() { for index in lanes.indices { lanes[index].rate = 0 } }

    private func planArrival(_ index: Int) {
        guard lanes[index].rate > 0 else { return }
        let gap = -Double.logOfUnit(&random) / lanes[index].rate
        arrivals.insert(Arrival(lane: index), due: clock.now + Int64(gap * 1e9))
    }

    private func publish(_ count: Int, to index: Int) {
        var events: [Event] = []
        for _ in 0..<count {
            let kind = lanes[index].kind.map { ".\($0(&random))" } ?? ""
            let event = Event(
                "lane.l\(index)\(kind)", id: "e\(log.count + 1)", subject: lanes[index].subject?(&random),
                app: lanes[index].app)
            log.append((event, time, index))
            events.append(event)
        }
        recentEvents.published(EventBatch(first: LogPosition(log.count - count) + 1, events: events))
    }

    // MARK: Receivers

    private func begin(_ callback: Callback) {
        let index = Int(callback.delegate.key) - 1
        count(&records[index].attempts)
        let host = lanes[index].host ?? index
        let (delay, outcome) =
            lanes[index].trouble(callback.event).map { lanes[host].receiver.result(of: $0) }
            ?? lanes[host].receiver.answer(at: time, using: &random)
        let second = Int(time)
        while mostOpen.count <= second { mostOpen.append(0) }
        mostOpen[second] = max(mostOpen[second], engine.open)
        let sequence = LogPosition(callback.event.id.dropFirst()) ?? 0
        sender.plan(callback.token, outcome, due: clock.now + Int64(delay * 1e9)) { [unowned self] in
            guard outcome.isSuccess else { return }
            guard delivered.insert(DeliveryKey(delegate: DelegateKey(index + 1), event: sequence)).inserted else {
                return
            }
            count(&records[index].useful)
            records[index].order.append(sequence)
            if records[index].firstUseful == nil || records[index].firstUseful ?? 0 < markAt {
                records[index].firstUseful = time
            }
            if time >= recordsLatencyFrom {
                records[index].latencies.append(time - log[Int(sequence) - 1].time)
            }
        }
    }

    /// `firstUseful` is the first success after this time.
    var markAt = 0.0

    private func count(_ counts: inout [Int]) {
        let second = Int(time)
        while counts.count <= second { counts.append(0) }
        counts[second] += 1
    }

    // MARK: What is seen

    /// Events that a lane has had no attempt of yet.
    func lag(_ index: Int = 0) -> Int {
        guard let next = lane(index)?.next else { return 0 }
        return log.dropFirst(Int(next) - 1).count { $0.lane == index }
    }

    func flow(_ index: Int = 0) -> FlowControl { lane(index)?.flow ?? FlowControl() }
    func waiting(_ index: Int = 0) -> Int { lane(index)?.rows.count ?? 0 }
    func storedRows() -> Int { rows.count }
    private func lane(_ index: Int) -> HeraldDelivery.Lane? { engine.lane(DelegateKey(index + 1)) }
    func subject(of event: LogPosition) -> String? { log[Int(event) - 1].event.subject }
    func published(_ isCounted: (Event) -> Bool) -> Int { log.count { isCounted($0.event) } }
    var published: Int { log.count }
}

/// A sender whose attempts end when the world says. `@unchecked`: one thread.
private final class FlowSender: CallbackSender, @unchecked Sendable {
    private struct Planned {
        let token: Int
        let outcome: CallbackOutcome
        let ended: () -> Void
    }

    let capacity: Int
    private let begin: (Callback) -> Void
    private var planned = TimerQueue<Planned>()

    init(capacity: Int, begin: @escaping (Callback) -> Void) {
        self.capacity = capacity
        self.begin = begin
    }

    func abort(_ shards: Shards) {}

    var nextDue: Int64? { planned.nextDue }

    func plan(_ token: Int, _ outcome: CallbackOutcome, due: Int64, ended: @escaping () -> Void) {
        planned.insert(Planned(token: token, outcome: outcome, ended: ended), due: due)
    }

    func end(now: Int64, finished: (Int, CallbackOutcome) -> Void) {
        while let attempt = planned.popDue(now: now) {
            attempt.ended()
            finished(attempt.token, attempt.outcome)
        }
    }

    func start(_ callback: Callback) { begin(callback) }
    func poll(nanoseconds: Int64?, finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) {}
    func wake() {}
    func close(finished: (_ token: Int, _ outcome: CallbackOutcome) -> Void) {}
}

/// The rows that wait for a retry, as a store has them.
private struct StoredRowsTable {
    private var rows: [DeliveryKey: WaitingDelivery] = [:]
    /// By tens of seconds.
    private var byTime: [Int64: Set<DeliveryKey>] = [:]
    private static let slot: Int64 = 10_000

    var count: Int { rows.count }

    mutating func apply(_ checkpoint: Checkpoint) {
        for row in checkpoint.waiting { set(row) }
        for key in checkpoint.ended { remove(key) }
    }

    mutating func set(_ row: WaitingDelivery) {
        let key = DeliveryKey(delegate: row.delegate, event: row.event)
        remove(key)
        guard row.state == .retrying else { return }
        rows[key] = row
        byTime[row.dueAt / Self.slot, default: []].insert(key)
    }

    private mutating func remove(_ key: DeliveryKey) {
        guard let row = rows.removeValue(forKey: key) else { return }
        byTime[row.dueAt / Self.slot]?.remove(key)
        if byTime[row.dueAt / Self.slot]?.isEmpty == true { byTime[row.dueAt / Self.slot] = nil }
    }

    func find(_ query: StoredRowsQuery, _ subject: (LogPosition) -> String?) -> [WaitingDelivery] {
        var found: [WaitingDelivery] = []
        switch query.part {
        case .due(let time, let event):
            for slot in byTime.keys.sorted() where slot >= time / Self.slot && found.count < query.limit {
                found += (byTime[slot] ?? []).compactMap { rows[$0] }
                    .filter { $0.delegate == query.delegate && ($0.dueAt, $0.event) > (time, event) }
                    .sorted { ($0.dueAt, $0.event) < ($1.dueAt, $1.event) }
            }
        case .subject(let name, let first):
            found = rows.values.filter {
                $0.delegate == query.delegate && $0.event >= first && subject($0.event) == name
            }.sorted { $0.event < $1.event }
        case .events(let range):
            found = rows.values.filter { $0.delegate == query.delegate && range.contains($0.event) }
                .sorted { $0.event < $1.event }
        }
        return found.prefix(query.limit).map {
            WaitingDelivery(
                delegate: $0.delegate, event: $0.event, attempts: $0.attempts, dueAt: $0.dueAt, state: $0.state,
                isReplay: $0.isReplay, isNamed: $0.isNamed, subject: subject($0.event))
        }
    }
}
