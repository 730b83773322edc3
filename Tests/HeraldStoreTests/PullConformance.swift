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
        let fixture = try StoreFixture(kind, appending: (1...9).map { Event("order.\($0)", id: "e\($0)") })
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

    @Test("a lease keeps its entries, and is found by its first event without a row", arguments: StoreKind.allCases)
    func entries(_ kind: StoreKind) throws {
        let fixture = try fixture(kind)
        func lease(_ id: String, until end: Int64, _ entries: PullLease.Entry...) -> PullLease {
            PullLease(delegate: 1, id: id, createdAt: 10, expiresAt: end, entries: entries)
        }
        let mixed = lease(
            "ls_a", until: 50, PullLease.Entry(1, attempts: 300, uncounted: 2, hasRow: true), PullLease.Entry(3))
        let retries = lease("ls_b", until: 60, PullLease.Entry(2, attempts: 1, hasRow: true))
        let later = lease("ls_c", until: 40, PullLease.Entry(5), PullLease.Entry(9))
        try fixture.transaction { (transaction) throws(StoreError) in
            for lease in [mixed, retries, later] { try transaction.set(lease) }
        }
        _ = try fixture.restart()
        let reader = try fixture.store.makeReader()
        #expect(try reader.countLeases() == 3)
        #expect(try reader.leases(of: 1, endedBy: 50, limit: 9) == [later, mixed])
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.leases(of: 1, through: 2, limit: 9) == [])
            #expect(try transaction.leases(of: 1, through: 5, limit: 9) == [mixed, later])
            #expect(try transaction.leases(of: 1, through: 9, limit: 1) == [mixed])
        }
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.removeLease("ls_b", of: 2)
            try transaction.removeLease("ls_a", of: 1)
        }
        #expect(try reader.leases(of: 1, endedBy: .max, limit: 9) == [later, retries])
    }

    @Test(
        "a new position ends all leases of its delegate, drops the retries up to it, and forgets all rows behind it",
        arguments: StoreKind.allCases)
    func seek(_ kind: StoreKind) throws {
        let fixture = try fixture(kind)
        func row(
            _ delegate: DelegateKey, _ event: LogPosition, _ state: WaitingDelivery.State = .retrying, dueAt: Int64 = 5
        ) -> WaitingDelivery {
            WaitingDelivery(delegate: delegate, event: event, attempts: 2, dueAt: dueAt, state: state)
        }
        let others = PullLease(delegate: 2, id: "ls_b", createdAt: 10, expiresAt: 50, entries: [PullLease.Entry(8)])
        try fixture.write {
            $0.waiting = [
                row(1, 1, .exhausted), row(1, 3), row(1, 4), row(1, 5), row(1, 6, .exhausted), row(2, 5),
                row(2, 6, .exhausted),
            ]
        }
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.set(lease("ls_a", until: 50, 7))
            try transaction.set(others)
            #expect(try transaction.retrying(1, in: 1...9, limit: 2) == [row(1, 3), row(1, 4)])
            try transaction.forget(1, after: 4, at: 77)
        }
        _ = try fixture.restart()
        let reader = try fixture.store.makeReader()
        #expect(try reader.waiting(event: 1) == [row(1, 1, .exhausted)])
        #expect(try reader.waiting(event: 3) == [row(1, 3, .dropped, dueAt: 77)])
        #expect(try reader.waiting(event: 4) == [row(1, 4, .dropped, dueAt: 77)])
        #expect(try reader.waiting(event: 5) == [row(2, 5)])
        #expect(try reader.waiting(event: 6) == [row(2, 6, .exhausted)])
        #expect(try reader.leases(of: 1, endedBy: .max, limit: 9) == [])
        #expect(try reader.leases(of: 2, endedBy: .max, limit: 9) == [others])
        // So does the end of a delegate.
        try fixture.transaction { (transaction) throws(StoreError) in try transaction.removeDelegate(2, at: 99) }
        #expect(try reader.countLeases() == 0)
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
                #expect(try transaction.waiting(1, events).map(\.event) == events.filter { $0 < 10 }.sorted())
                #expect(try transaction.waiting(2, events).isEmpty)
            }
        }
    }
}
