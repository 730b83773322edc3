import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Erasure in every store")
struct ErasureConformance {
    private let otherApp = AppKey(rawValue: 2)

    @Test("the events of a subject are found, slice by slice", arguments: StoreKind.allCases)
    func about(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.append([
            Event(id: "a", subject: "user:42"), Event(id: "b", subject: "user:4"), Event(id: "c", subject: "user:42"),
            Event(id: "d"),
            Event(id: "e", subject: "user:42", app: otherApp), Event(id: "f", subject: "user:42"),
        ])
        let reader = try fixture.store.makeReader()
        func found(_ after: LogPosition, _ limit: Int) throws -> [LogPosition] {
            try reader.sequences(about: "user:42", app: .default, after: after, limit: limit)
        }
        #expect(try found(0, 2) == [1, 3])
        #expect(try found(3, 2) == [6])
        #expect(try found(6, 2) == [])
        #expect(try reader.sequences(about: "user:", app: .default, after: 0, limit: 9) == [])
    }

    @Test("an erased event keeps its position and has no content", arguments: StoreKind.allCases)
    func events(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2))
        try fixture.append([
            Event(id: "a", subject: "user:42", attributes: [KeyValue("source", "/x")], data: #"{"name":"Ada"}"#),
            Event(id: "b", subject: "user:7", data: "7"),
        ])
        try fixture.write {
            $0.attempts = [attempt(1, 1, excerpt: "hello Ada"), attempt(2, 2), attempt(2, 1, status: 500)]
            $0.waiting = [
                WaitingDelivery(delegate: 2, event: 1, attempts: 1, dueAt: 5, state: .retrying),
                WaitingDelivery(delegate: 2, event: 2, attempts: 1, dueAt: 5, state: .retrying, subject: "user:7"),
            ]
        }
        let newest = try #require(try fixture.store.makeReader().attempts(event: 1).last).id
        let erasure = try fixture.transaction { (transaction) throws(StoreError) in
            let erasure = try transaction.erase([1, 99])
            #expect(try transaction.event(app: .default, id: "a")?.event.isErased == true)
            #expect(try transaction.recipients(event: 1, after: 0, limit: 9) == [])
            #expect(try transaction.erase([1]) == Erasure(), "there is nothing left")
            return erasure
        }
        #expect((erasure.events, erasure.attempts, erasure.deliveries) == (1, 2, 1))
        #expect(try fixture.restart().waiting.map(\.event) == [2])
        let reader = try fixture.store.makeReader()
        let batch = try reader.events(after: 0, limit: 9, maxBytes: 999)
        #expect(batch.events.map(\.id) == ["a", "b"])
        let erased = batch.events[0]
        #expect(erased.isErased && erased.subject == nil && Array(erased.data) == Array("null".utf8))
        #expect(erased.attribute("source") == nil)
        #expect((erased.type, erased.time) == (batch.events[1].type, batch.events[1].time))
        #expect(try reader.sequences(about: "user:42", app: .default, after: 0, limit: 9) == [])
        #expect(try reader.attempts(event: 1) == [])
        #expect(try reader.attempts(AttemptQuery(delegate: 1)) == [])
        #expect(try reader.waiting(event: 1) == [])
        #expect(batch.events[1].subject == "user:7")
        #expect(try reader.attempts(event: 2).count == 1)
        try fixture.write { $0.attempts = [attempt(1, 2)] }
        let next = try #require(try fixture.store.makeReader().attempts(event: 2).last)
        #expect(next.id > newest, "no number is given twice")
    }

    @Test("an erasure is done in steps of few rows, and the last one leaves nothing", arguments: StoreKind.allCases)
    func steps(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.set(WebhookDelegate(1))
        try fixture.append((1...5).map { Event(id: "e\($0)", subject: "user:42", data: #"{"name":"Ada"}"#) })
        try fixture.write { $0.attempts = (1...12).map { attempt(1, $0 < 10 ? 1 : 2, excerpt: "hello Ada") } }
        let stored = Int64(Event(id: "e1", subject: "user:42", data: #"{"name":"Ada"}"#).storedBytes)
        var sum = Erasure()
        var rest: [LogPosition] = [1, 2, 3, 4, 5]
        var steps = 0
        while !rest.isEmpty, steps < 50 {
            let step = try fixture.transaction { (transaction) throws(StoreError) in
                try transaction.erase(rest, limit: 4)
            }
            sum.events += step.events
            sum.attempts += step.attempts
            for (block, bytes) in step.freed { sum.freed[block, default: 0] += bytes }
            rest = step.rest
            steps += 1
            // After a crash, the request is repeated: it searches by subject.
            let reader = try fixture.store.makeReader()
            let found = try reader.sequences(about: "user:42", app: .default, after: 0, limit: 9)
            let first = try reader.events(after: 0, limit: 1, maxBytes: 999).events
            #expect(first.map(\.isErased) == [true], "from the first step on, it is sent no more")
            for event in LogPosition(1)...5 where !found.contains(event) {
                #expect(try reader.attempts(event: event) == [], "event \(event) is not found, and has attempts")
            }
        }
        #expect((sum.events, sum.attempts) == (5, 12) && steps > 1)
        let left = try fixture.store.makeReader().events(after: 0, limit: 9, maxBytes: 9_999).events
        #expect(left.filter { !$0.isErased }.isEmpty)
        #expect(sum.freed == [0: 5 * stored - Int64(left.reduce(0) { $0 + $1.storedBytes })])
        #expect(try fixture.store.makeReader().attempts(event: 1) == [])
    }

    @Test("responses are searched in steps, from key to key", arguments: [StoreKind.sqlite, .postgres])
    func answers(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.transaction { (transaction) throws(StoreError) in
            for index in 0..<10 {
                let answer = StoredAnswer(
                    fingerprint: [1], status: 202, headers: [],
                    body: Array((index % 2 == 0 ? #"{"subject":"user:42"}"# : "{}").utf8))
                try transaction.setAnswer(answer, app: .default, key: "k\(index)", expiresAt: 100)
                try transaction.setAnswer(answer, app: otherApp, key: "k\(index)", expiresAt: 100)
            }
        }
        var removed: [Int] = []
        var next: String? = ""
        while let key = next, removed.count < 20 {
            let step = try fixture.transaction { (transaction) throws(StoreError) in
                try transaction.eraseSubject("user:42", app: .default, after: key, limit: 4)
            }
            removed.append(step.answers)
            next = step.nextAnswer
        }
        #expect(removed == [2, 2, 1])
        try fixture.transaction { (transaction) throws(StoreError) in
            for index in 0..<10 {
                let key = "k\(index)"
                #expect(try (transaction.answer(app: .default, key: key, now: 1) == nil) == (index % 2 == 0))
                #expect(try transaction.answer(app: otherApp, key: key, now: 1) != nil)
            }
        }
    }

    @Test("a subject's auth status is removed, and stored responses that name it", arguments: StoreKind.allCases)
    func subject(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        func status(_ user: String, _ app: AppKey = .default) -> AuthStatus {
            AuthStatus(app: app, userID: user, isLoggedIn: true, user: Array("{}".utf8), since: 1, eventID: "e")
        }
        func answer(_ body: String) -> StoredAnswer {
            StoredAnswer(fingerprint: [1], status: 202, headers: [], body: Array(body.utf8))
        }
        let bodies = [
            #"{"id":"1","subject":"user:42"}"#, #"{"id":"2","subject":"user:421"}"#, #"{"id":"user:42x"}"#, "",
            #"{"data":[{"subject":"user:4"},{"subject":"user:42"}]}"#, #"{"id":"user:42"#,
        ]
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.setAuthStatus(status("42"))
            try transaction.setAuthStatus(status("42", otherApp))
            try transaction.setAuthStatus(status("user:42"))
            for (index, body) in bodies.enumerated() {
                try transaction.setAnswer(answer(body), app: .default, key: "k\(index)", expiresAt: 100)
            }
            try transaction.setAnswer(answer(bodies[0]), app: otherApp, key: "k0", expiresAt: 100)
        }
        let erasure = try fixture.transaction { (transaction) throws(StoreError) in
            let erasure = try transaction.eraseSubject("user:42", app: .default)
            #expect(try transaction.authStatus(app: .default, userID: "42") == nil)
            return erasure
        }
        #expect((erasure.authStatuses, erasure.answers) == (1, 2))
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.authStatus(app: .default, userID: "user:42") != nil)
            #expect(try transaction.authStatus(app: otherApp, userID: "42") != nil)
            for index in bodies.indices {
                let isThere = try transaction.answer(app: .default, key: "k\(index)", now: 1) != nil
                #expect(isThere == ![0, 4].contains(index), "\(bodies[index])")
            }
            #expect(try transaction.answer(app: otherApp, key: "k0", now: 1) != nil)
        }
    }
}
