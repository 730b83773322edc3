import HeraldModel
import HeraldTestSupport
import Testing

@Suite("The log of every store")
struct EventConformance {
    @Test("a new store is empty", arguments: StoreKind.allCases)
    func empty(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let recovery = try fixture.restart()
        #expect(recovery.head == 0)
        #expect(recovery.first == 1)
        #expect(recovery.settled == 0)
        #expect(recovery.nextDelegateKey == 1)
        #expect(recovery.delegates.isEmpty && recovery.decided.isEmpty)
    }

    @Test("events get consecutive positions, also across a restart", arguments: StoreKind.allCases)
    func numbers(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: [Event(id: "a"), Event(id: "b")])
        let recovery = try fixture.restart()
        #expect(recovery.head == 2)
        #expect(recovery.first == 1)
        try fixture.append([Event(id: "c")])
        let batch = try fixture.store.makeReader().events(after: 1, limit: 10, maxBytes: 1000)
        #expect(batch.first == 2)
        #expect(batch.events.map(\.id) == ["b", "c"])
    }

    @Test("an event is read as it was written", arguments: StoreKind.allCases)
    func roundTrip(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let app = AppKey(rawValue: 7)
        let long = String(repeating: "ü", count: 256)
        let data = #"{"a": "\u00e4 \#(long)\#(long)"}"#
        try fixture.append([
            Event("auth.logged_in", id: "e-1", subject: long, time: -5, data: data, app: app),
            Event(id: "e-2", subject: "", data: "1"),
            Event(
                id: "e-3", attributes: [KeyValue("traceparent", "00-1"), KeyValue("source", "/ü")], audience: 7,
                data: "\"" + String(repeating: "x", count: 10_000) + "\""),
        ])
        let reader = try fixture.store.makeReader()
        let first = try #require(try reader.event(app: app, id: "e-1"))
        #expect(first.sequence == 1)
        #expect(first.event.app == app)
        #expect(first.event.type == "auth.logged_in")
        #expect(first.event.subject == long)
        #expect(first.event.time == -5)
        #expect(Array(first.event.data) == Array(data.utf8))
        #expect(try reader.event(app: .default, id: "e-2")?.event.subject == "")
        #expect(first.event.attributes == [] && first.event.audience == nil)
        #expect(try reader.event(app: .default, id: "e-1") == nil, "another app's")
        let third = try #require(try reader.event(app: .default, id: "e-3")).event
        #expect(third.attributes == [KeyValue("traceparent", "00-1"), KeyValue("source", "/ü")])
        #expect(third.audience == 7)
        #expect(try reader.events(after: 2, limit: 1, maxBytes: 1).events.map(\.audience) == [7])
    }

    @Test(
        "events appended together are read in their order, each as it was written", arguments: StoreKind.allCases)
    func together(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let long = String(repeating: "ü", count: 256)
        // Some are long, and some have what others haven't.
        let subjects: [String?] = [long, "short", nil]
        let events = (1...47).map { (number: Int) -> Event in
            let attributes: [KeyValue] = number % 5 == 0 ? [KeyValue("source", "/\(number)")] : []
            let audience: DelegateKey? = number % 7 == 0 ? DelegateKey(number) : nil
            return Event(
                id: "e-\(number)", subject: subjects[number % 3], attributes: attributes, audience: audience,
                data: "[\(number)]")
        }
        try fixture.append(events)
        try fixture.append([Event(id: "x")])
        let found = try fixture.store.makeReader().events(after: 0, limit: 47, maxBytes: 1 << 20).events
        #expect(found.map(\.id) == events.map(\.id))
        #expect(found.map(\.subject) == events.map(\.subject))
        #expect(found.map(\.attributes) == events.map(\.attributes))
        #expect(found.map(\.audience) == events.map(\.audience))
        #expect(found.map { Array($0.data) } == events.map { Array($0.data) })

        let twice = failure {
            try fixture.store.transaction { (transaction) throws(StoreError) in
                try transaction.append((0..<20).map { Event(id: "y-\($0 % 19)") })
            }
        }
        #expect(twice?.description.hasPrefix("The store failed") == true, "the same id was taken twice")
        #expect(try fixture.restart().head == 48)
    }

    @Test("a transaction sees what it appended, and a duplicate id is refused", arguments: StoreKind.allCases)
    func duplicate(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.store.transaction { (transaction) throws(StoreError) in
            try transaction.append(Event(id: "a"))
            #expect(try transaction.event(app: .default, id: "a")?.sequence == 1)
            #expect(try transaction.event(app: AppKey(rawValue: 2), id: "a") == nil)
            try transaction.append(Event(id: "a", app: AppKey(rawValue: 2)))
            #expect(try transaction.event(app: AppKey(rawValue: 2), id: "a")?.sequence == 2)
        }
        let again = failure { try fixture.append([Event(id: "b"), Event(id: "a")]) }
        #expect(again?.description.hasPrefix("The store failed") == true, "the second event with the id was taken")
        #expect(try fixture.restart().head == 2, "the other event of the transaction is not there either")
    }

    @Test("a transaction that throws leaves nothing behind", arguments: StoreKind.allCases)
    func rollback(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: [Event(id: "a")])
        try fixture.set(WebhookDelegate(1))
        let thrown = failure {
            try fixture.store.transaction { (transaction) throws(StoreError) in
                try transaction.append(Event(id: "b"))
                try transaction.setDelegate(WebhookDelegate(2))
                try transaction.removeDelegate(1, at: 5)
                try transaction.setAppState(AppState(app: .default, state: [49], since: 1, eventID: "b"))
                var checkpoint = Checkpoint()
                checkpoint.settled = 1
                checkpoint.attempts = [attempt(1, 1)]
                try transaction.write(checkpoint)
                throw .failed(reason: "on purpose")
            }
        }
        #expect(thrown == .failed(reason: "on purpose"))
        #expect(try fixture.store.makeReader().event(app: .default, id: "b") == nil)
        try fixture.append([Event(id: "c")])
        let recovery = try fixture.restart()
        #expect(recovery.head == 2)
        #expect(recovery.settled == 0)
        #expect(recovery.delegates.map(\.key) == [1])
        #expect(recovery.appStates.isEmpty && recovery.decided.isEmpty)
        #expect(try fixture.store.makeReader().attempts(event: 1).isEmpty)
    }

    @Test("a page ends at the limit, or once its data exceeds the bytes", arguments: StoreKind.allCases)
    func pages(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.append((1...9).map { Event(id: "e\($0)", data: "\"\($0)2345678\"") })  // 10 bytes each
        let reader = try fixture.store.makeReader()
        func ids(_ after: LogPosition, _ limit: Int, _ bytes: Int) throws -> [String] {
            let batch = try reader.events(after: after, limit: limit, maxBytes: bytes)
            #expect(batch.first == after + 1)
            #expect(batch.last == after + LogPosition(batch.events.count))
            return batch.events.map(\.id)
        }
        #expect(try ids(0, 2, 1000) == ["e1", "e2"])
        #expect(try ids(7, 5, 1000) == ["e8", "e9"])
        #expect(try ids(0, 5, 0) == ["e1"])
        #expect(try ids(0, 5, 10) == ["e1", "e2"])
        #expect(try ids(0, 5, 25) == ["e1", "e2", "e3"])
        #expect(try ids(9, 5, 1000) == [])
    }

    @Test("events are listed newest first, by app, type, subject and time, page by page", arguments: StoreKind.allCases)
    func queries(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.append([
            Event("auth.logged_in", id: "a", subject: "u1", time: 100),
            Event("auth.logged_out", id: "b", subject: "u1", time: 200),
            Event("authority", id: "c", subject: "u2", time: 300),
            Event("auth.logged_in", id: "d", time: 400),
            Event("auth.logged_in", id: "e", subject: "u1", time: 500, app: AppKey(rawValue: 2)),
            Event("auth.logged_in", id: "f", subject: "u1", time: 150, audience: 4),
        ])
        let reader = try fixture.store.makeReader()
        func ids(_ change: (inout EventQuery) -> Void) throws -> [String] {
            var query = EventQuery()
            change(&query)
            return try reader.events(query).map(\.event.id)
        }
        #expect(try ids { _ in } == ["d", "c", "b", "a"], "an addressed one is for one delegate alone")
        #expect(try ids { $0.app = AppKey(rawValue: 2) } == ["e"])
        #expect(try ids { $0.types = [.prefix("auth.")] } == ["d", "b", "a"])
        #expect(try ids { $0.types = [.exact("auth.logged_in")] } == ["d", "a"])
        let two: [EventPattern] = [.exact("auth.logged_out"), .exact("authority")]
        #expect(try Set(ids { $0.types = two }).isSuperset(of: ["c", "b"]))
        #expect(try ids { $0.subject = "u1" } == ["b", "a"])
        #expect(try ids { ($0.since, $0.until) = (200, 300) } == ["c", "b"])
        #expect(try ids { $0.limit = 2 } == ["d", "c"])
        #expect(try ids { ($0.limit, $0.before) = (2, 3) } == ["b", "a"])
        #expect(try ids { $0.before = 1 } == [])
    }

    @Test("a subject is found by its bytes, not by what Unicode has as equivalent", arguments: StoreKind.allCases)
    func equivalentSubjects(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let subjects = ["caf\u{e9}", "cafe\u{301}"]
        try fixture.append([Event(id: "a", subject: subjects[0]), Event(id: "b", subject: subjects[1])])
        let reader = try fixture.store.makeReader()
        for (subject, id) in zip(subjects, ["a", "b"]) {
            var query = EventQuery()
            query.subject = subject
            #expect(try reader.events(query).map(\.event.id) == [id])
            // The feed searches in memory.
            let all = try reader.events(EventQuery()).map(\.event)
            let matching = all.filter(query.matches)
            #expect(matching.map(\.id) == [id])
        }
    }
}
