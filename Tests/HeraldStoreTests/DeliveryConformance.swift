import HeraldModel
import HeraldTestSupport
import Testing

@Suite("The waiting deliveries of every store")
struct DeliveryConformance {
    private let otherApp = AppKey(rawValue: 2)

    private func row(
        _ delegate: DelegateKey, _ event: LogPosition, _ state: WaitingDelivery.State, attempts: Int = 2,
        dueAt: Int64 = 50,
        isReplay: Bool = false, subject: String? = nil
    ) -> WaitingDelivery {
        WaitingDelivery(
            delegate: delegate, event: event, attempts: attempts, dueAt: dueAt, state: state, isReplay: isReplay,
            subject: subject)
    }

    /// Events 1 to 4, the second with a subject; delegates 1, 2, and 3 of another app.
    private func fixture(_ kind: StoreKind, _ waiting: [WaitingDelivery]) throws -> StoreFixture {
        let fixture = try StoreFixture(kind)
        try fixture.append((1...4).map { Event(id: "e\($0)", subject: $0 == 2 ? "order:2" : nil) })
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2), WebhookDelegate(3, app: otherApp))
        try fixture.write { $0.waiting = waiting }
        return fixture
    }

    @Test("of one delegate are read by time, by subject and by event, in parts", arguments: StoreKind.allCases)
    func parts(_ kind: StoreKind) throws {
        let rows = [
            row(1, 1, .retrying, dueAt: 70), row(1, 2, .retrying, dueAt: 60, subject: "order:2"),
            row(1, 3, .retrying, dueAt: 60), row(1, 4, .exhausted, dueAt: 60),
        ]
        let fixture = try fixture(kind, rows + [row(2, 2, .retrying, dueAt: 1, subject: "order:2")])
        let reader = try fixture.store.makeReader()
        func read(_ part: StoredRowsQuery.Part, limit: Int = 10) throws -> [WaitingDelivery] {
            try reader.rows(StoredRowsQuery(delegate: 1, part: part, limit: limit))
        }
        #expect(try read(.due(after: .min, event: .min)) == [rows[1], rows[2], rows[0]])
        #expect(try read(.due(after: .min, event: .min), limit: 2) == [rows[1], rows[2]])
        #expect(try read(.due(after: 60, event: 2)) == [rows[2], rows[0]])
        #expect(try read(.due(after: 70, event: 1)) == [])
        #expect(try read(.subject("order:2", from: 1)) == [rows[1]])
        #expect(try read(.subject("order:2", from: 3)) == [])
        #expect(try read(.subject("other", from: 1)) == [])
        #expect(try read(.events(.min...2)) == [rows[0], rows[1]])
        #expect(try read(.events(.min...(.max)), limit: 1) == [rows[0]])
    }

    @Test("of a delegate with many are not read by a start, but counted", arguments: StoreKind.allCases)
    func crowded(_ kind: StoreKind) throws {
        let few = [row(1, 2, .retrying, subject: "order:2"), row(1, 4, .retrying), row(1, 1, .exhausted)]
        let many = (1...3).map { row(2, $0, .retrying) } + [row(2, 4, .dropped)]
        let fixture = try fixture(kind, many + few)
        let recovery = try fixture.store.recover(.all, maxRows: 2)
        #expect(recovery.waiting.sorted { $0.event < $1.event } == [few[0], few[1]])
        #expect(recovery.crowded.mapValues(\.count) == [2: 3])
        #expect(try fixture.store.recover(.all, maxRows: 3).crowded.isEmpty)
    }

    @Test("are listed newest event first, by state, delegate and event, page by page", arguments: StoreKind.allCases)
    func lists(_ kind: StoreKind) throws {
        let rows = [
            row(2, 4, .exhausted), row(2, 3, .retrying), row(1, 3, .dropped),
            row(2, 2, .exhausted, isReplay: true, subject: "order:2"), row(1, 2, .exhausted, subject: "order:2"),
            row(1, 1, .retrying),
        ]
        let fixture = try fixture(kind, [row(3, 4, .exhausted)] + rows.shuffled())
        let reader = try fixture.store.makeReader()
        func list(
            _ states: Set<WaitingDelivery.State>, _ change: (inout DeliveryQuery) -> Void = { _ in }
        ) throws -> [WaitingDelivery] {
            var query = DeliveryQuery(states)
            change(&query)
            let all = try reader.deliveries(query)
            if query.before == nil, query.limit == 50 { #expect(try reader.countDeliveries(query) == all.count) }
            return all
        }
        let all = Set(WaitingDelivery.State.allCases)
        #expect(try list(all) == rows)
        #expect(try list([]) == [])
        #expect(try list([.exhausted]) == [rows[0], rows[3], rows[4]])
        #expect(try list([.retrying, .dropped]) == [rows[1], rows[2], rows[5]])
        #expect(try list(all) { $0.delegate = 1 } == [rows[2], rows[4], rows[5]])
        #expect(try list([.exhausted]) { $0.delegate = 2 } == [rows[0], rows[3]])
        #expect(try list(all) { $0.delegate = 3 } == [], "another app's")
        #expect(try list(all) { $0.app = otherApp } == [row(3, 4, .exhausted)])
        #expect(try list(all) { $0.event = 2 } == [rows[3], rows[4]])
        #expect(try list(all) { ($0.event, $0.delegate) = (2, 1) } == [rows[4]])
        #expect(try list(all) { $0.events = 2...3 } == Array(rows[1...4]))
        #expect(try list(all) { ($0.event, $0.events) = (4, 2...3) } == [])

        var pages: [[WaitingDelivery]] = []
        var before: DeliveryKey?
        while let last = try list(all, { ($0.before, $0.limit) = (before, 2) }).last {
            pages.append(try list(all) { ($0.before, $0.limit) = (before, 2) })
            before = DeliveryKey(delegate: last.delegate, event: last.event)
        }
        #expect(pages == [Array(rows[0...1]), Array(rows[2...3]), Array(rows[4...5])])
        var query = DeliveryQuery(all)
        (query.before, query.limit) = (before, 1)
        #expect(try reader.countDeliveries(query) == 6, "a page is none of the count's business")
    }

    @Test("of one app are found in parts that pass over few of all apps", arguments: StoreKind.allCases)
    func passed(_ kind: StoreKind) throws {
        let rows = [row(1, 4, .exhausted), row(2, 3, .exhausted), row(1, 3, .dropped), row(1, 1, .exhausted)]
        let others = (1...4).map { row(3, $0, .exhausted, subject: $0 == 2 ? "order:2" : nil) }
        let fixture = try fixture(kind, rows + others)
        let reader = try fixture.store.makeReader()
        func parts(of app: AppKey, passing count: Int, limit: Int = 9) throws -> [[WaitingDelivery]] {
            var query = DeliveryQuery(Set(WaitingDelivery.State.allCases))
            (query.app, query.passed, query.limit) = (app, count, limit)
            var parts: [[WaitingDelivery]] = []
            for _ in 0..<20 {
                let page = try reader.search(query)
                parts.append(page.rows)
                query.before = page.rest
                if page.rest == nil { break }
            }
            return parts
        }
        for passed in 1...9 {
            for limit in [1, 9] {
                #expect(try parts(of: .default, passing: passed, limit: limit).flatMap { $0 } == rows)
                #expect(try parts(of: otherApp, passing: passed, limit: limit).flatMap { $0 } == others.reversed())
            }
            #expect(try parts(of: AppKey(rawValue: 9), passing: passed).allSatisfy(\.isEmpty))
        }
        // The store in memory reads all rows.
        if kind == .memory { return }
        #expect(try parts(of: AppKey(rawValue: 9), passing: 2).count > 2, "of nothing, too")
    }

    @Test(
        "are found by type, subject and last error, in parts that read a bounded number", arguments: StoreKind.allCases)
    func filters(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.append(
            (1...6).map { Event($0 < 4 ? "order.paid" : "user.created", id: "e\($0)", subject: $0 == 2 ? "o:2" : nil) })
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2), WebhookDelegate(3, app: otherApp))
        let rows = [
            row(2, 6, .exhausted), row(1, 5, .retrying), row(1, 4, .exhausted), row(2, 3, .dropped),
            row(1, 2, .exhausted, subject: "o:2"), row(1, 1, .exhausted),
        ]
        try fixture.write { checkpoint in
            checkpoint.waiting = rows + [row(3, 6, .exhausted)]
            checkpoint.attempts = [
                attempt(1, 1, status: 503), attempt(1, 2, status: 500), attempt(1, 2, status: 404),
                attempt(1, 4, status: nil, failure: .timeout), attempt(2, 6, status: 500), attempt(2, 3, status: 200),
            ]
        }
        let reader = try fixture.store.makeReader()
        let all = Set(WaitingDelivery.State.allCases)
        func find(
            _ states: Set<WaitingDelivery.State>, _ delegate: DelegateKey? = nil,
            _ change: (inout DeliveryFilter) -> Void
        ) throws -> [LogPosition] {
            var filter = DeliveryFilter()
            change(&filter)
            var query = DeliveryQuery(states)
            (query.filter, query.delegate) = (filter, delegate)
            let whole = try reader.search(query)
            #expect(whole.rest == nil)
            // The same in the smallest parts.
            for (limit, work) in [(50, 1), (1, 50), (2, 2)] {
                (query.limit, query.work, query.before) = (limit, work, nil)
                var found: [WaitingDelivery] = []
                for _ in 0..<20 {
                    let page = try reader.search(query)
                    #expect(page.rows.count <= limit)
                    found += page.rows
                    query.before = page.rest
                    if page.rest == nil { break }
                }
                #expect(found == whole.rows, "\(limit), \(work)")
            }
            return whole.rows.map(\.event)
        }
        func errors(_ texts: String...) -> [DeliveryError] { texts.compactMap { DeliveryError($0) } }
        #expect(try find(all) { $0.types = [.exact("order.paid")] } == [3, 2, 1])
        #expect(try find(all) { $0.types = [.prefix("user."), .exact("order.paid")] } == [6, 5, 4, 3, 2, 1])
        #expect(try find([.exhausted]) { $0.types = [.prefix("user.")] } == [6, 4])
        #expect(try find(all, 1) { $0.types = [.prefix("user.")] } == [5, 4])
        #expect(try find(all) { $0.subject = "o:2" } == [2])
        #expect(try find(all) { $0.errors = errors("5xx") } == [6, 1], "the last attempt counts")
        #expect(try find(all) { $0.errors = errors("404", "timeout") } == [4, 2])
        #expect(try find(all, 1) { $0.errors = errors("5xx") } == [1])
        #expect(try find(all) { $0.errors = errors("tls_failed") } == [])
        #expect(try find(all) { $0.failedSince = 0 } == [6, 4, 2, 1], "without an attempt, or a success, none failed")
        #expect(try find(all) { $0.failedSince = .max } == [])
    }

    @Test("are no longer there when an event was delivered: its last success says so", arguments: StoreKind.allCases)
    func delivered(_ kind: StoreKind) throws {
        let fixture = try fixture(kind, [row(1, 3, .retrying)])
        try fixture.write {
            $0.attempts = [
                attempt(1, 1), attempt(2, 1), attempt(1, 2, status: 500), attempt(1, 2), attempt(1, 2), attempt(1, 3),
                attempt(2, 4, status: 500), attempt(3, 4),
            ]
        }
        let reader = try fixture.store.makeReader()
        func to(_ delegate: DelegateKey, _ app: AppKey = .default, limit: Int = 9) throws -> [LogPosition] {
            try reader.delivered(to: delegate, app: app, in: 1...4, limit: limit).map(\.record.event)
        }
        #expect(try to(1) == [2, 1], "one of its events was requested again")
        #expect(try to(1, limit: 1) == [2])
        #expect(try to(2) == [1])
        #expect(try to(3, otherApp) == [], "its events are those of another app")
        #expect(try reader.delivered(to: 1, app: .default, in: 1...1, limit: 9).map(\.record.event) == [1])
        func of(_ event: LogPosition, before delegate: DelegateKey = .max, limit: Int = 9) throws -> [DelegateKey] {
            try reader.delivered(event: event, before: delegate, limit: limit).map(\.record.delegate)
        }
        #expect(try of(1) == [2, 1])
        #expect(try of(1, limit: 1) == [2])
        #expect(try of(1, before: 2) == [1])
        #expect(try of(2) == [1] && of(3) == [])
        #expect(try reader.delivered(event: 2, before: .max, limit: 1).map(\.id) == [5], "the last of them")
    }

    @Test("are counted for each delegate of one app and state", arguments: StoreKind.allCases)
    func counts(_ kind: StoreKind) throws {
        let rows = [
            row(1, 1, .exhausted), row(1, 3, .exhausted), row(1, 4, .retrying), row(2, 2, .exhausted),
            row(2, 4, .dropped), row(3, 4, .exhausted),
        ]
        let fixture = try fixture(kind, rows)
        let reader = try fixture.store.makeReader()
        func count(_ app: AppKey, _ state: WaitingDelivery.State) throws -> [DeliveryCount] {
            try reader.countDeliveries(app: app, state).sorted { $0.delegate < $1.delegate }
        }
        let exhausted = try count(.default, .exhausted)
        #expect(exhausted.map(\.delegate) == [1, 2] && exhausted.map(\.deliveries) == [2, 1])
        #expect(exhausted.map(\.newest) == [3, 2])
        #expect(try count(.default, .dropped) == [DeliveryCount(delegate: 2, deliveries: 1, newest: 4)])
        #expect(try count(.default, .damaged).isEmpty)
        #expect(try count(otherApp, .exhausted) == [DeliveryCount(delegate: 3, deliveries: 1, newest: 4)])
    }

    @Test("are made again: due now, with no attempts, marked as replays", arguments: StoreKind.allCases)
    func redeliver(_ kind: StoreKind) throws {
        let fixture = try fixture(kind, [row(1, 1, .exhausted), row(1, 2, .dropped), row(2, 4, .exhausted)])
        var query = DeliveryQuery([.exhausted, .dropped])
        query.limit = 2
        let again = try fixture.transaction { (transaction) throws(StoreError) in
            let again = try transaction.redeliver(query, at: 900)
            #expect(
                try transaction.redeliver(query, at: 901).map(\.event) == [1], "the others are not exhausted any more")
            return again
        }
        let first = row(2, 4, .retrying, attempts: 0, dueAt: 900, isReplay: true)
        let second = row(1, 2, .retrying, attempts: 0, dueAt: 900, isReplay: true, subject: "order:2")
        #expect(again == [first, second])
        let third = row(1, 1, .retrying, attempts: 0, dueAt: 901, isReplay: true)
        let found = try fixture.restart().waiting
        #expect(found.count == 3 && found.contains(third))
        #expect(try fixture.store.makeReader().deliveries(DeliveryQuery([.retrying])) == [first, second, third])
    }

    @Test("are dropped on request", arguments: StoreKind.allCases)
    func drop(_ kind: StoreKind) throws {
        let fixture = try fixture(
            kind, [row(1, 1, .retrying), row(1, 2, .exhausted), row(2, 1, .retrying), row(1, 4, .retrying)])
        var query = DeliveryQuery([.retrying])
        query.delegate = 1
        let dropped = try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.drop(query, at: 900)
        }
        #expect(dropped == [DeliveryKey(delegate: 1, event: 4), DeliveryKey(delegate: 1, event: 1)])
        #expect(try fixture.restart().waiting == [row(2, 1, .retrying)])
        let found = try fixture.store.makeReader().deliveries(DeliveryQuery([.dropped]))
        #expect(found == [row(1, 4, .dropped, dueAt: 900), row(1, 1, .dropped, dueAt: 900)])
    }

    @Test(
        "delegates with an attempt or a waiting delivery are the recipients of an event", arguments: StoreKind.allCases)
    func recipients(_ kind: StoreKind) throws {
        let fixture = try fixture(kind, [row(2, 1, .retrying), row(1, 3, .retrying)])
        try fixture.write { $0.attempts = [attempt(3, 1), attempt(2, 1, status: 500), attempt(1, 2)] }
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.recipients(event: 1, after: 0, limit: 9) == [2, 3])
            #expect(try transaction.recipients(event: 1, after: 0, limit: 1) == [2])
            #expect(try transaction.recipients(event: 1, after: 2, limit: 9) == [3])
            #expect(try transaction.recipients(event: 2, after: 0, limit: 9) == [1])
            #expect(try transaction.recipients(event: 4, after: 0, limit: 9) == [])
        }
    }
}
