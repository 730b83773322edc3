import HeraldModel
import HeraldTestSupport
import Testing

@Suite("The leases of every store")
struct PullConformance {
    private func lease(_ id: String, until end: Int64, _ events: LogPosition...) -> PullLease {
        PullLease(delegate: 1, id: id, createdAt: 10, expiresAt: end, entries: events.map { PullLease.Entry($0) })
    }

    /// Events 1 to 9, delegates 1 and 2.
    private func fixture(_ kind: StoreKind) throws -> StoreFixture {
        let fixture = try StoreFixture(kind)
        try fixture.append((1...9).map { Event("order.\($0)", id: "e\($0)") })
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2))
        return fixture
    }

    private let lanes = [
        LanePosition(delegate: 1, cursor: 0, position: 4), LanePosition(delegate: 2, cursor: 3, position: 3),
    ]

    private func state(_ lane: Int, _ lease: PullLease? = nil, besides leases: PullLease...) -> PullState {
        var others = LeaseTotals()
        for lease in leases { others.add(lease) }
        return PullState(lane: lanes[lane], lease: lease, others: others)
    }

    @Test("a lease takes over the row of another one, and is counted", arguments: StoreKind.allCases)
    func replace(_ kind: StoreKind) throws {
        let fixture = try fixture(kind)
        let (first, second, next) = (
            lease("ls_a", until: 50, 1, 2), lease("ls_b", until: 40, 3), lease("ls_c", until: 60, 4)
        )
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.pullState(of: 1, lease: nil) == nil)
            var checkpoint = Checkpoint()
            checkpoint.lanes = lanes
            try transaction.write(checkpoint)
            #expect(try transaction.pullState(of: 1, lease: "ls_a") == state(0))
            try transaction.set(first)
            try transaction.set(second)
        }
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.pullState(of: 1, lease: nil) == state(0, besides: first, second))
            #expect(try transaction.pullState(of: 1, lease: "ls_b") == state(0, second, besides: first))
            #expect(try transaction.pullState(of: 2, lease: "ls_b") == state(1))
            try transaction.set(next, replacing: "ls_b")
        }
        _ = try fixture.restart()
        let reader = try fixture.store.makeReader()
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.pullState(of: 1, lease: "ls_b") == state(0, besides: first, next))
            #expect(try transaction.leases(of: 1, endedBy: .max, limit: 9) == [first, next])
        }
        #expect(try reader.pullState(of: 1, lease: "ls_c") == state(0, next, besides: first))
    }

    @Test(
        "names and rows are those of the given events, be they neighbors, near or far apart",
        arguments: StoreKind.allCases)
    func chosen(_ kind: StoreKind) throws {
        let fixture = try fixture(kind)
        let rows = (1...9).map { event in
            WaitingDelivery(
                delegate: 1, event: event, attempts: 1, dueAt: 5, state: event == 5 ? .exhausted : .retrying,
                isReplay: false)
        }
        try fixture.write { $0.waiting = rows }
        for events: [LogPosition] in [[2, 3, 4], [4, 2, 5], [1, 9], [7], [9, 10], []] {
            try fixture.transaction { (transaction) throws(StoreError) in
                let names = try transaction.names(of: events)
                #expect(names.keys.sorted() == events.filter { $0 < 10 }.sorted())
                #expect(names.allSatisfy { $1 == EventName(id: "e\($0)", type: "order.\($0)") })
                let found = try transaction.retrying(1, events).map(\.event)
                #expect(found == events.filter { $0 < 10 && $0 != 5 }.sorted())
                #expect(try transaction.retrying(2, events).isEmpty)
            }
        }
    }
}
