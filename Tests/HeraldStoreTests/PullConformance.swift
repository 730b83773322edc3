import HeraldCore
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

    @Test("a lease takes over the row of another one, and is counted", arguments: StoreKind.allCases)
    func replace(_ kind: StoreKind) throws {
        let fixture = try fixture(kind)
        let (first, second, next) = (
            lease("ls_a", until: 50, 1, 2), lease("ls_b", until: 40, 3), lease("ls_c", until: 60, 4)
        )
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.leaseTotals(of: 1) == LeaseTotals(count: 0, firstEnd: nil))
            try transaction.set(first)
            try transaction.set(second)
        }
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.leaseTotals(of: 1) == LeaseTotals(count: 2, firstEnd: 40))
            #expect(try transaction.leaseTotals(of: 2).count == 0)
            try transaction.set(next, replacing: "ls_b")
        }
        _ = try fixture.restart()
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.leaseTotals(of: 1) == LeaseTotals(count: 2, firstEnd: 50))
            #expect(try transaction.lease("ls_b", of: 1) == nil)
            #expect(try transaction.leases(of: 1, endedBy: .max, limit: 9) == [first, next])
            #expect(try transaction.firstLeased(of: 1) == 1)
        }
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
