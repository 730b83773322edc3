import HeraldRuntime
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Pull delegates", .timeLimit(.minutes(20)))
struct PullTests {
    private let bench: HubBench
    private let pulls: Pulls
    private let clock = ManualClock()

    init() throws {
        var configuration = Hub.Configuration()
        configuration.memory.maxRecentEvents = 8
        bench = try HubBench(configuration: configuration, clock: clock.clock)
        pulls = Pulls(hub: bench.hub)
        bench.hub.addDelegate(pulls, description: "pulls")
    }

    /// - Parameter count: of events that follow the registration.
    private func register(
        posting count: Int = 0, _ change: (inout WebhookSettings) -> Void = { _ in }
    ) async throws -> WebhookDelegate {
        let delegate = await bench.register("") { settings in
            settings.kind = .pull
            settings.retrySchedule = [10, 10]
            change(&settings)
        }
        try await post(count)
        return try #require(delegate)
    }

    private func pull(
        _ delegate: WebhookDelegate, _ limit: Int = 10, seconds: Int = 0, acknowledging run: Pulls.Run? = nil
    ) async throws -> Pulls.Run {
        try await withCheckedThrowingContinuation { continuation in
            pulls.pull(
                .init(delegateID: delegate.id, limit: limit, seconds: seconds, acknowledges: run?.lease?.id) {
                    continuation.resume(with: $0)
                })
        }
    }

    private func result(
        _ delegate: WebhookDelegate, _ action: PullWrite.Action
    ) async -> WriteResult<PullWrite.Outcome> {
        await bench.hub.result(of: PullWrite.self) {
            PullWrite(delegateID: delegate.id, action: action, completion: $0)
        }
    }

    private func write(_ delegate: WebhookDelegate, _ action: PullWrite.Action) async throws -> PullWrite.Outcome {
        guard case .done(let outcome) = await result(delegate, action) else { throw HubError.busy }
        return outcome
    }

    private func acknowledge(
        _ run: Pulls.Run, of delegate: WebhookDelegate, failed: [String] = []
    ) async throws -> PullWrite.Settled? {
        let lease = try #require(run.lease)
        let failures = failed.map { PullWrite.Failed(id: $0, retryAfter: nil, reason: "no stock") }
        guard
            case .settled(let settled) = try await write(
                delegate, .acknowledge(lease: lease.id, failed: failures))
        else { return nil }
        return settled
    }

    private func post(_ count: Int, type: String = "order.paid", from first: Int = 0) async throws {
        for number in first..<first + count { _ = try await bench.post(type, id: "e\(number)") }
    }

    /// - Parameter count: the deliveries that the request makes.
    private func redeliver(_ event: String, to delegate: WebhookDelegate, count: Int = 1) async throws {
        let result = await bench.hub.result(of: DeliveryWrite.self) {
            DeliveryWrite(action: .redeliverEvent(id: event, delegateID: delegate.id), completion: $0)
        }
        guard case .done(.count(count)) = result else { throw HubError.busy }
    }

    private func cancel(_ delegate: WebhookDelegate) async throws {
        var query = DeliveryQuery([.retrying])
        query.delegate = delegate.key
        let result = await bench.hub.result(of: DeliveryWrite.self) {
            DeliveryWrite(action: .cancel(query), completion: $0)
        }
        guard case .done(.count(1)) = result else { throw Unexpected("\(result)") }
    }

    private func ids(_ run: Pulls.Run) -> [String] { run.events.map(\.event.event.id) }

    @Test("events are handed out once, in runs, and nothing is left once they are acknowledged")
    func runs() async throws {
        let delegate = try await register(posting: 12) { $0.events = [.exact("order.paid")] }
        try await post(3, type: "order.made", from: 100)
        try await post(3, from: 12)
        let first = try await pull(delegate)
        #expect(ids(first) == (0..<10).map { "e\($0)" } && first.hasMore)
        let second = try await pull(delegate)
        #expect(ids(second) == (10..<15).map { "e\($0)" } && !second.hasMore)
        #expect(try await pull(delegate).lease == nil)
        #expect(
            try await acknowledge(first, of: delegate) == .init(acknowledged: 10, retrying: 0, exhausted: 0))
        #expect(try await acknowledge(first, of: delegate) == nil)
        #expect(try await acknowledge(second, of: delegate)?.acknowledged == 5)
        let lane = try bench.store.makeReader().lane(of: delegate.key)
        #expect(lane?.position == 18 && lane?.cursor == 18)
    }

    @Test("a search with a content filter that costs much ends early, and the next one continues it")
    func expensiveFilters() async throws {
        let expensive = try ExpensiveFilter()
        let delegate = try await register { $0.filter = expensive.filter }
        let count = 2 * 400_000 / expensive.steps + 4
        for _ in 0..<count { _ = try await bench.post("order.paid", data: expensive.data) }
        _ = try await bench.post("order.paid", id: "last", data: expensive.matching)
        var run = try await pull(delegate)
        #expect(run.lease == nil && run.hasMore)
        var pulled = 1
        while run.lease == nil, run.hasMore, pulled < 10 {
            run = try await pull(delegate)
            pulled += 1
        }
        #expect(ids(run) == ["last"] && pulled > 2)
    }

    @Test("what other apps have published is passed over, and does not show in a pull that finds nothing")
    func otherApps() async throws {
        let delegate = try await register()
        let other = try await bench.addApp()
        for batch in 0..<12 {
            let drafts = (0..<1_000).map { number in
                EventDraft(event: Event("order.paid", id: "e\(batch)-\(number)", app: other), mayExist: false)
            }
            _ = await bench.publish(drafts, app: other)
        }
        #expect(bench.hub.head == 12_000)
        let none = try await pull(delegate)
        #expect(none.lease == nil && !none.hasMore)
        _ = try await bench.post("order.paid", id: "own")
        let run = try await pull(delegate)
        #expect(ids(run) == ["own"] && !run.hasMore)
        await bench.stop()
    }

    @Test("a failed event is handed out again by the schedule, until it is used up")
    func failures() async throws {
        let delegate = try await register(posting: 3)
        var run = try await pull(delegate)
        #expect(
            try await acknowledge(run, of: delegate, failed: ["e1"])
                == .init(acknowledged: 2, retrying: 1, exhausted: 0))
        #expect(try await pull(delegate).lease == nil)
        for attempt in 2...3 {
            clock.advance(seconds: 13)
            run = try await pull(delegate)
            #expect(ids(run) == ["e1"] && run.events[0].attempt == attempt)
            let settled = try await acknowledge(run, of: delegate, failed: ["e1"])
            #expect(settled == .init(acknowledged: 0, retrying: attempt == 2 ? 1 : 0, exhausted: attempt == 2 ? 0 : 1))
        }
        clock.advance(seconds: 1_000)
        // Without a delegate of herald.* events, the notice is not handed out.
        #expect(try await pull(delegate).lease == nil)
    }

    @Test("an event that is not in the lease is refused, and the lease stays")
    func unknown() async throws {
        let delegate = try await register(posting: 2)
        let run = try await pull(delegate, 1)
        let lease = try #require(run.lease)
        let failed = ["e0", "e1", "e2"].map { PullWrite.Failed(id: $0, retryAfter: nil, reason: "") }
        guard
            case .failed(.invalid(let errors)) = try await write(
                delegate, .acknowledge(lease: lease.id, failed: failed)),
            errors.map(\.pointer) == ["/failed/1/id", "/failed/2/id"]
        else {
            Issue.record("the unknown events were not named")
            return
        }
        #expect(try await acknowledge(run, of: delegate)?.acknowledged == 1)
    }

    @Test(
        "the events of an expired lease are handed out alone, so that only the one that ends its consumers is given up")
    func expiry() async throws {
        let delegate = try await register(posting: 3)
        #expect(try await pull(delegate).events.count == 3)
        clock.advance(seconds: 61)
        #expect(try await pull(delegate).lease == nil)
        clock.advance(seconds: 13)
        var found: [String] = []
        for _ in 0..<3 {
            let run = try await pull(delegate)
            #expect(run.events.count == 1 && run.events.first?.attempt == 2)
            found += ids(run)
            if ids(run) == ["e1"] { continue }
            #expect(try await acknowledge(run, of: delegate)?.acknowledged == 1)
        }
        #expect(found.sorted() == ["e0", "e1", "e2"])
        clock.advance(seconds: 61)
        #expect(try await pull(delegate).lease == nil)
        clock.advance(seconds: 13)
        #expect(ids(try await pull(delegate)) == ["e1"])
        clock.advance(seconds: 61)
        #expect(try await pull(delegate).lease == nil)
        clock.advance(seconds: 100)
        #expect(try await pull(delegate).lease == nil)
    }

    @Test("one consumer gets due retries and new events in turns, also if its retries are always due")
    func turnsOfRetries() async throws {
        let delegate = try await register(posting: 4) { $0.retrySchedule = Array(repeating: 0, count: 20) }
        var found: [String] = []
        for _ in 0..<6 {
            let run = try await pull(delegate, 1)
            found += ids(run)
            let failed = ids(run).map { PullWrite.Failed(id: $0, retryAfter: 0) }
            _ = try await write(delegate, .acknowledge(lease: try #require(run.lease).id, failed: failed))
        }
        // New ones with every second pull.
        #expect(found.enumerated().filter { $0.offset % 2 == 0 }.map(\.element) == ["e0", "e1", "e2"], "\(found)")
    }

    @Test("in strict order, nothing passes an event that failed")
    func strict() async throws {
        let delegate = try await register(posting: 4) { $0.ordering = .strict }
        let first = try await pull(delegate, 3)
        #expect(ids(first) == ["e0", "e1", "e2"])
        #expect(try await pull(delegate).lease == nil)
        #expect(
            try await acknowledge(first, of: delegate, failed: ["e1"])
                == .init(acknowledged: 1, retrying: 1, exhausted: 0, returned: 1))
        #expect(try await pull(delegate).lease == nil)
        clock.advance(seconds: 13)
        var order: [String] = []
        while true {
            let run = try await pull(delegate)
            if run.lease == nil { break }
            order += ids(run)
            #expect(try await acknowledge(run, of: delegate) != nil)
        }
        #expect(order == ["e1", "e2", "e3"])
    }

    @Test("a pull waits for an event of its types, and for one that is given back")
    func waiting() async throws {
        let delegate = try await register { $0.events = [.prefix("order.")] }
        async let waiting = pull(delegate, seconds: 60)
        _ = try await bench.post("user.made", id: "other")
        try await post(1)
        let run = try await waiting
        #expect(ids(run) == ["e0"])
        let lease = try #require(run.lease)
        async let again = pull(delegate, seconds: 60)
        guard case .settled = try await write(delegate, .release(lease: lease.id))
        else { throw Unexpected("the lease was not released") }
        let second = try await again
        #expect(ids(second) == ["e0"] && second.events[0].attempt == 1)
    }

    @Test("an event that is redelivered before it was pulled is handed out once, and holds up no other")
    func redeliveredBefore() async throws {
        let delegate = try await register(posting: 3)
        for event in ["e0", "e2"] { try await redeliver(event, to: delegate, count: 0) }
        var found: [String] = []
        while true {
            let run = try await pull(delegate, 1)
            if run.lease == nil { break }
            found += ids(run)
            _ = try await acknowledge(run, of: delegate, failed: ids(run) == ["e0"] ? ["e0"] : [])
        }
        #expect(found == ["e0", "e1", "e2"])
    }

    @Test("an event that a delegate does not want is handed out when it is redelivered to it, before its position, too")
    func redeliveredUnwanted() async throws {
        let delegate = try await register { $0.events = [.exact("order.paid")] }
        try await post(1, type: "order.made")
        #expect(try await pull(delegate).lease == nil)
        try await redeliver("e0", to: delegate)
        let run = try await pull(delegate)
        #expect(ids(run) == ["e0"])
        _ = try await acknowledge(run, of: delegate)
        try await post(1, from: 1)
        #expect(ids(try await pull(delegate)) == ["e1"])
    }

    /// How the first consumer ends, and what it had: a new event, or one that had failed before.
    private static let endings = ["acknowledges", "fails", "returns", "extends", "expires"].flatMap { ending in
        [(ending, false), (ending, true)]
    }

    @Test(
        "an event that is redelivered while it is leased is delivered once more, whatever the first consumer says of it",
        arguments: endings)
    func redeliveredWhileLeased(_ ending: String, _ hasFailed: Bool) async throws {
        let delegate = try await register(posting: 1)
        if hasFailed {
            let run = try await pull(delegate)
            let failed = PullWrite.Failed(id: "e0", retryAfter: 0)
            _ = try await write(delegate, .acknowledge(lease: try #require(run.lease).id, failed: [failed]))
        }
        let first = try #require(try await pull(delegate).lease)
        clock.advance(seconds: 1)
        try await redeliver("e0", to: delegate)
        let second = try await pull(delegate)
        #expect(ids(second) == ["e0"] && second.events.first?.attempt == 1)
        let failed = PullWrite.Failed(id: "e0", retryAfter: 0, isReturned: ending == "returns")
        switch ending {
        case "acknowledges": _ = try await write(delegate, .acknowledge(lease: first.id, failed: []))
        case "extends": _ = try await write(delegate, .extend(lease: first.id, seconds: 600))
        case "expires": _ = try await write(delegate, .extend(lease: try #require(second.lease).id, seconds: 600))
        default: _ = try await write(delegate, .acknowledge(lease: first.id, failed: [failed]))
        }
        if ending == "expires" { clock.advance(seconds: 60) }
        // Only the second consumer has it.
        #expect(try await pull(delegate).lease == nil)
        let again = PullWrite.Failed(id: "e0", retryAfter: 0)
        _ = try await write(delegate, .acknowledge(lease: try #require(second.lease).id, failed: [again]))
        let third = try await pull(delegate)
        #expect(ids(third) == ["e0"] && third.events.first?.attempt == 2)
        _ = try await acknowledge(third, of: delegate)
        if ending == "extends" { _ = try await write(delegate, .acknowledge(lease: first.id, failed: [])) }
        #expect(bench.store.memory.read { $0.waiting.isEmpty })
    }

    @Test(
        "an event whose redelivery has ended while it was leased is not handed out again, whatever the first consumer says of it",
        arguments: ["is cancelled", "is cancelled in order", "is used up"],
        ["fails", "returns", "releases", "expires"])
    func redeliveryHasEnded(_ redelivery: String, _ ending: String) async throws {
        let delegate = try await register(posting: 1) { settings in
            settings.retrySchedule = redelivery == "is used up" ? [] : [10]
            settings.ordering = redelivery == "is cancelled in order" ? .strict : .none
        }
        let first = try #require(try await pull(delegate).lease)
        clock.advance(seconds: 1)
        try await redeliver("e0", to: delegate)
        if redelivery == "is used up" {
            let settled = try await acknowledge(try await pull(delegate), of: delegate, failed: ["e0"])
            #expect(settled?.exhausted == 1)
        } else {
            try await cancel(delegate)
        }
        let ended = bench.store.memory.read { $0.waiting }
        #expect(ended.values.map(\.state) == [redelivery == "is used up" ? .exhausted : .dropped])
        let failed = PullWrite.Failed(id: "e0", retryAfter: 0, isReturned: ending == "returns")
        switch ending {
        case "releases": _ = try await write(delegate, .release(lease: first.id))
        case "expires": clock.advance(seconds: 60)
        default: _ = try await write(delegate, .acknowledge(lease: first.id, failed: [failed]))
        }
        // An expired lease ends with a pull.
        #expect(try await pull(delegate).lease == nil)
        clock.advance(seconds: 20)
        #expect(try await pull(delegate).lease == nil)
        #expect(bench.store.memory.read { $0.waiting } == ended)
    }

    @Test("an event that the delegate wants after its redelivery was cancelled is handed out until it is acknowledged")
    func wantedLater() async throws {
        let delegate = try await register { $0.events = [.exact("order.paid")] }
        try await post(1, type: "order.made")
        try await redeliver("e0", to: delegate)
        try await cancel(delegate)
        _ = await bench.change(
            .update(id: delegate.id, ifVersion: nil) { state, _ throws(FieldErrors) in
                state.settings.events = [.exact("order.made")]
            })
        clock.advance(seconds: 1)
        let first = try await pull(delegate)
        #expect(ids(first) == ["e0"])
        _ = try await write(delegate, .release(lease: try #require(first.lease).id))
        #expect(ids(try await pull(delegate)) == ["e0"])
    }

    @Test("a lease ends after twelve hours, however often it is extended")
    func longestLease() async throws {
        let delegate = try await register(posting: 1)
        let lease = try #require(try await pull(delegate).lease)
        clock.advance(seconds: 30)
        let outcome = try await write(delegate, .extend(lease: lease.id, seconds: 50_000))
        guard case .extended(let extended) = outcome else { throw Unexpected("\(outcome)") }
        #expect(extended.expiresAt == lease.createdAt + 43_200_000)
        clock.advance(seconds: 43_170)
        let late = try await write(delegate, .acknowledge(lease: lease.id, failed: []))
        #expect(late.error?.problem == .leaseEnded)
    }

    @Test("an extension does not let a lease end sooner")
    func shorterExtension() async throws {
        let delegate = try await register(posting: 1)
        let lease = try #require(try await pull(delegate).lease)
        let outcome = try await write(delegate, .extend(lease: lease.id, seconds: 5))
        guard case .extended(let extended) = outcome else { throw Unexpected("\(outcome)") }
        #expect(extended.expiresAt == lease.expiresAt)
    }

    @Test("after the end of a lease, a pull that does not wait gets what is there")
    func afterExpiry() async throws {
        let delegate = try await register(posting: 1)
        #expect(try await pull(delegate).lease != nil)
        clock.advance(seconds: 61)
        try await post(2, from: 1)
        #expect(ids(try await pull(delegate)) == ["e1", "e2"])
    }

    @Test("leases that have expired end within one pull, however many there are")
    func manyExpired() async throws {
        let delegate = try await register(posting: 300)
        for _ in 0..<300 { _ = try await pull(delegate, 1) }
        clock.advance(seconds: 61)
        // What has failed is not due yet.
        #expect(try await pull(delegate, 10).events.isEmpty)
        clock.advance(seconds: 20)
        // Each event may have ended its consumer, and is handed out alone.
        #expect(try await pull(delegate, 10).events.count == 1)
    }

    @Test("a pull that waits ends with its delegate")
    func removed() async throws {
        let delegate = try await register()
        let waiting = Task { try await pull(delegate, seconds: 600) }
        _ = try await pull(delegate)
        _ = await bench.change(.remove(id: delegate.id, ifVersion: nil))
        await #expect(throws: Pulls.Failure.self) { _ = try await waiting.value }
    }

    @Test("a pull that waits for a lease to end searches only when something has changed")
    func patience() async throws {
        let delegate = try await register { settings in
            settings.ordering = .strict
            settings.events = [.exact("order.paid")]
        }
        try await post(2)
        let run = try await pull(delegate, 1)
        let searches = Atomic(0)
        async let next: Pulls.Run = withCheckedThrowingContinuation { continuation in
            pulls.pull(
                .init(
                    delegateID: delegate.id, limit: 1, seconds: 600,
                    isAwaited: { body in
                        searches.add(1, ordering: .relaxed)
                        body(true)
                    }
                ) { continuation.resume(with: $0) })
        }
        for number in 2..<12 {
            try await post(1, from: number)
            try await post(1, type: "order.made", from: 100 + number)
        }
        _ = try await acknowledge(run, of: delegate)
        let second = try await next
        #expect(ids(second) == ["e1"])
        // Ten events, the acknowledgement, and what came while it was searching.
        #expect(searches.load(ordering: .relaxed) <= 25)
    }

    @Test(
        "a pull acknowledges the run before it, in the transaction of its own lease",
        arguments: [WebhookSettings.Ordering.none, .strict])
    func acknowledging(_ ordering: WebhookSettings.Ordering) async throws {
        let delegate = try await register(posting: 3) { $0.ordering = ordering }
        _ = try await acknowledge(try await pull(delegate, 1), of: delegate, failed: ["e0"])
        clock.advance(seconds: 20)
        // A retry, which has a row.
        let first = try await pull(delegate, 1)
        let before = bench.store.kinds.items.count { $0 == .deciding }
        let second = try await pull(delegate, 1, acknowledging: first)
        #expect(ids(first) == ["e0"] && ids(second) == ["e1"])
        #expect(bench.store.kinds.items.count(where: { $0 == .deciding }) == before + 1)
        await #expect(throws: Pulls.Failure.self) { _ = try await pull(delegate, 1, acknowledging: first) }
        let third = try await pull(delegate, 1, acknowledging: second)
        #expect(ids(third) == ["e2"])
        // It finds nothing, and acknowledges.
        #expect(try await pull(delegate, 1, acknowledging: third).lease == nil)
        let left = bench.store.memory.read { ($0.pullLeases[delegate.key]?.count ?? 0, $0.waiting.count) }
        #expect(left == (0, 0))
    }

    @Test("seeking hands out again what follows the position")
    func seeking() async throws {
        let delegate = try await register(posting: 4)
        let run = try await pull(delegate, 2)
        _ = try await acknowledge(run, of: delegate, failed: ["e1"])
        _ = try await pull(delegate, 1)
        guard case .sought = try await write(delegate, .seek(to: 0))
        else { throw Unexpected("the position was not moved") }
        #expect(ids(try await pull(delegate)) == ["e0", "e1", "e2", "e3"])
        #expect(try await pull(delegate).lease == nil)
    }

    @Test("workers that compete get each event once")
    func workers() async throws {
        let delegate = try await register(posting: 200)
        let runs = try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var found: [String] = []
                    while true {
                        let run = try await pull(delegate, 7)
                        if run.lease == nil { return found }
                        found += ids(run)
                        #expect(try await acknowledge(run, of: delegate) != nil)
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(runs.count == 200 && Set(runs).count == 200)
    }

    @Test("an event that is erased between the search and the claim is not handed out")
    func erasedMeanwhile() async throws {
        let delegate = try await register(posting: 3)
        let end = bench.hub.head
        let entries = (end - 2...end).map { PullLease.Entry($0) }
        let proposal = PullWrite.Proposal(from: end - 3, to: end, entries: entries, ended: [], ackSeconds: 30)
        guard case .sought = try await write(delegate, .seek(to: end - 3))
        else { throw Unexpected("the position was not moved") }
        await withCheckedContinuation { continuation in
            bench.hub.submit(DeliveryWrite(action: .erase([end - 1])) { _ in continuation.resume() })
        }
        guard case .claimed(let lease) = try await write(delegate, .claim(proposal))
        else { throw Unexpected("nothing was handed out") }
        #expect(lease.entries.map(\.event) == [end - 2, end])
        #expect(try await pull(delegate).events.isEmpty)
    }

    @Test("a seek to the end leaves nothing to retry")
    func seekingToTheEnd() async throws {
        let delegate = try await register(posting: 4)
        let run = try await pull(delegate, 2)
        _ = try await acknowledge(run, of: delegate, failed: ["e1"])
        let open = try await pull(delegate, 1)
        guard case .sought = try await write(delegate, .seek(to: bench.hub.head))
        else { throw Unexpected("the position was not moved") }
        clock.advance(seconds: 100)
        #expect(try await pull(delegate).lease == nil)
        #expect(try await acknowledge(open, of: delegate) == nil)
        #expect(bench.store.memory.read { $0.waiting.values.map(\.state) } == [.dropped])
        try await post(1, from: 4)
        #expect(ids(try await pull(delegate)) == ["e4"])
    }

    @Test("many pulls that wait get the events of a failed attempt, of an expired lease and of a redelivery")
    func returned() async throws {
        let delegate = try await register(posting: 1)
        let run = try await pull(delegate)
        let lease = try #require(run.lease)
        let failed = PullWrite.Failed(id: "e0", retryAfter: 0, reason: "")
        async let second = pull(delegate, seconds: 600)
        async let third = pull(delegate, seconds: 600)
        _ = try await write(delegate, .acknowledge(lease: lease.id, failed: [failed]))
        let publishing = Task { try await post(1, from: 1) }
        try await publishing.value
        let runs = try await [second, third]
        #expect(Set(runs.flatMap(ids)) == ["e0", "e1"])
        for run in runs { _ = try await acknowledge(run, of: delegate) }
        async let fourth = pull(delegate, seconds: 600)
        try await redeliver("e1", to: delegate)
        let again = try await fourth
        #expect(ids(again) == ["e1"] && again.events.first?.attempt == 1)
    }

    @Test("a time and a reason beyond their limits are refused, and the lease stays")
    func failuresBeyondLimits() async throws {
        let delegate = try await register(posting: 1)
        let run = try await pull(delegate)
        let lease = try #require(run.lease)
        let failed = [
            PullWrite.Failed(id: "e0", retryAfter: .max),
            PullWrite.Failed(id: "e0", retryAfter: -1, reason: String(repeating: "x", count: 201)),
        ]
        let result = await result(delegate, .acknowledge(lease: lease.id, failed: failed))
        guard case .refused(.invalid(let errors)) = result else { throw Unexpected("\(result)") }
        #expect(errors.map(\.pointer) == ["/failed/0/retry_after", "/failed/1/retry_after", "/failed/1/reason"])
        #expect(try await acknowledge(run, of: delegate)?.acknowledged == 1)
    }

    @Test("the kind of a delegate can't be changed, and a webhook can't be pulled")
    func kinds() async throws {
        let delegate = try await register()
        let outcome = await bench.change(
            .update(id: delegate.id, ifVersion: nil) { state, _ in
                state.settings.kind = .webhook
                state.settings.url = "https://receiver.example/"
            })
        guard case .done(.invalid(let errors)) = outcome else { throw Unexpected("the kind was changed") }
        #expect(errors.map(\.pointer) == ["/kind"])
        let webhook = try #require(await bench.register())
        await #expect(throws: Pulls.Failure.self) { try await pull(webhook) }
    }

    @Test("a transaction moves a part of the lanes past what retention removes, and the next one the others")
    func retentionInParts() async throws {
        let first = try await register { $0.description = "first" }
        let second = try await register(posting: 1) { $0.events = [.exact("order.paid")] }
        let seen = Recorder<[LogPosition?]>()
        bench.store.duringTransaction.withLock { observer in
            observer = { [memory = bench.store.memory] in
                seen.record(memory.read { [$0.lanes[first.key]?.position, $0.lanes[second.key]?.position] })
            }
        }
        let parts = Array(repeating: PullTrim.Part(delegate: first.key, wanted: [1]), count: 100)
        bench.hub.submit(
            PullTrim(
                parts: parts + [.init(delegate: second.key, wanted: [1])], through: 1, cause: .size,
                announcements: MissedPulls()))
        for _ in 1...3 { await withCheckedContinuation { done in bench.hub.afterDraining { done.resume() } } }
        #expect(seen.items.contains([1, 0]) && seen.items.last == [1, 1], "\(seen.items)")
    }

    @Test("a consumer may report events that retention has removed since they were handed out again")
    func removedRetries() async throws {
        let delegate = try await register(posting: 2) { $0.events = [.exact("order.paid")] }
        let first = try #require(try await pull(delegate).lease)
        let failures = ["e0", "e1"].map { PullWrite.Failed(id: $0, retryAfter: 0) }
        _ = try await write(delegate, .acknowledge(lease: first.id, failed: failures))
        let run = try await pull(delegate)
        #expect(ids(run) == ["e0", "e1"])
        // Memory forgets the first ones.
        try await post(40, type: "order.made", from: 2)
        bench.hub.submit(
            PullTrim(
                parts: [.init(delegate: delegate.key, wanted: [])], through: 1, cause: .size,
                announcements: MissedPulls()))
        let isRemoved = await withCheckedContinuation { continuation in
            bench.hub.submit(TrimWrite(events: [1...1]) { continuation.resume(returning: $0) })
        }
        #expect(isRemoved)
        // One is removed, so one of these was never in the lease.
        #expect(try await acknowledge(run, of: delegate, failed: ["e0", "e1", "e2"]) == nil)
        let settled = try await acknowledge(run, of: delegate, failed: ["e0", "e1"])
        #expect(settled == .init(acknowledged: 1, retrying: 1, exhausted: 0))
        #expect(bench.store.memory.read { $0.waiting.keys.map(\.event) } == [2])
    }

    @Test("an announcement that was skipped while a removal waited follows the removal")
    func skippedAnnouncement() async throws {
        let first = try await register { $0.description = "first" }
        let second = try await register(posting: 1) { $0.events = [.exact("order.paid")] }
        let announcements = MissedPulls()
        announcements.restore(second.key)
        #expect(announcements.due(at: clock.now) == [second.key])
        bench.hub.submit(
            PullTrim(
                parts: [.init(delegate: first.key, wanted: [])], through: 1, cause: .size,
                announcements: announcements))
        for _ in 1...3 { await withCheckedContinuation { done in bench.hub.afterDraining { done.resume() } } }
        #expect(announcements.due(at: clock.now).isEmpty)
    }

    @Test("what a deleted delegate has missed is forgotten")
    func missedByDeleted() async throws {
        let announcements = MissedPulls()
        announcements.restore(99)
        #expect(announcements.due(at: clock.now) == [99])
        bench.hub.submit(
            PullTrim(
                parts: [.init(delegate: 99, wanted: [])], through: 0, cause: .age, announcements: announcements))
        await withCheckedContinuation { done in bench.hub.afterDraining { done.resume() } }
        #expect(announcements.due(at: clock.now).isEmpty)
    }

    @Test("what retention removes before it is pulled or settled is counted, and announced at most once a minute")
    func retention() async throws {
        let delegate = try await register(posting: 10) { $0.events = [.exact("order.paid")] }
        let run = try await pull(delegate, 2)
        let store = bench.store
        func trim(through last: LogPosition, _ announcements: MissedPulls) async throws {
            let lane = try #require(try store.makeReader().lane(of: delegate.key))
            let unread = lane.position < last ? Array(lane.position + 1...last) : []
            await withCheckedContinuation { continuation in
                bench.hub.submit(
                    PullTrim(
                        parts: [.init(delegate: delegate.key, wanted: unread)], through: last, cause: .size,
                        announcements: announcements))
                bench.hub.afterDraining { continuation.resume() }
            }
        }
        let announcements = MissedPulls()
        try await trim(through: 5, announcements)
        #expect(try await acknowledge(run, of: delegate) == nil)
        let lane = try store.makeReader().lane(of: delegate.key)
        #expect(lane?.position == 5 && lane?.cursor == 5)
        #expect(ids(try await pull(delegate)) == (5..<10).map { "e\($0)" })
        #expect(announcements.due(at: clock.now).isEmpty)
        try await trim(through: 7, announcements)
        #expect(announcements.due(at: clock.now).isEmpty)
        #expect(store.memory.read { $0.unannounced } == [delegate.key: 2])
        clock.advance(seconds: 60)
        #expect(announcements.due(at: clock.now) == [delegate.key])
        try await trim(through: 0, announcements)
        #expect(announcements.due(at: clock.now).isEmpty && store.memory.read { $0.unannounced }.isEmpty)
        func notices() -> [String] {
            let events = bench.hub.recentEvents(after: 10, limit: 100)?.events ?? []
            let announced = events.filter { $0.type == "herald.delivery.dropped" }
            return announced.map { String(decoding: $0.data, as: UTF8.self) }
        }
        #expect(notices().count == 2)
        let last = notices().last ?? ""
        #expect(last.contains(#""events_at_most":2,"total_at_most":7"#), "\(last)")
        // A stop announces what waits within the minute.
        try await trim(through: 8, announcements)
        #expect(announcements.due(at: clock.now).isEmpty)
        announcements.endMinutes()
        #expect(announcements.due(at: clock.now) == [delegate.key])
        // One that died has not announced it: the next one does, once, and begins another series.
        let next = MissedPulls()
        next.restore(delegate.key)
        #expect(next.due(at: clock.now) == [delegate.key])
        try await trim(through: 0, next)
        try await trim(through: 0, announcements)
        #expect(next.due(at: clock.now).isEmpty && announcements.due(at: clock.now).isEmpty)
        #expect(notices().count == 3)
        let restored = notices().last ?? ""
        #expect(restored.contains(#""events_at_most":1,"total_at_most":1"#), "\(restored)")
    }
}
