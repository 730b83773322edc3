import HeraldModel
import HeraldTestSupport
import Testing

@Suite("The delegates of every store")
struct DelegateConformance {
    @Test("a delegate is read as it was written", arguments: StoreKind.allCases)
    func roundTrip(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        var wanted = WebhookSettings(url: "https://example.com/ä:1")
        wanted.events = [.any, .prefix("auth."), .exact("order.created")]
        wanted.subjects = ["user:42", "", "3:x", "ü\n"]
        wanted.description = "the \"shop\""
        wanted.metadata = [KeyValue("team", "a:b"), KeyValue("", "")]
        wanted.headers = [KeyValue("x-b", "1"), KeyValue("x-a", "2"), KeyValue("x-b", "3")]
        wanted.maxInFlight = 7
        wanted.timeoutSeconds = 60
        wanted.retrySchedule = [0.1, 1e6, 5]
        wanted.filter = ContentFilter(
            text: Array(
                #"{"$or":[{"source":["/a"]},{"data":{"plan":[{"wildcard":"te*\\*"},{"cidr":"10.0.0.0/8"}]}}]}"#.utf8))
        wanted.format = .cloudeventsBinary
        wanted.ordering = .subject
        wanted.rateLimit = 0.25
        wanted.leaseSeconds = 3600
        wanted.disableAfterSeconds = 600
        wanted.verification = .challenge
        wanted.httpVersion = .http2
        wanted.tls = TLSSettings(authorities: "ca: ä", pin: "p", clientCertificate: "c\n", clientKey: "k")
        wanted.request = Recipe(stored: Array(#"{"method":"PUT","auth":{"basic":{"user":"ä","password":"p"}}}"#.utf8))
        let given = WebhookDelegate(
            2, start: 3, status: .paused, reason: "on request: ä",
            secrets: [
                DelegateSecret(SigningSecret(.v1a, bytes: Array(1...32))),
                DelegateSecret(SigningSecret(bytes: Array("v1:".utf8) + [0, 255]), expiresAt: 1_700_000_000_000),
            ], expiresAt: 5_000, failingSince: 4_000, version: 4
        ) { $0 = wanted }
        try fixture.set(WebhookDelegate(1), given)

        let recovery = try fixture.restart()
        #expect(recovery.delegates.map(\.key) == [1, 2])
        #expect(recovery.nextDelegateKey == 3)
        let found = try #require(recovery.delegates.last)
        #expect(wanted.filter != nil)
        #expect(found.settings == wanted)
        #expect(found.state == given.state)
        #expect((found.app, found.id, found.start) == (given.app, given.id, given.start))
        #expect((found.createdAt, found.updatedAt, found.version) == (10, 20, 4))
    }

    @Test("a change replaces the delegate", arguments: StoreKind.allCases)
    func change(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        try fixture.set(WebhookDelegate(1))
        try fixture.set(WebhookDelegate(1, url: "https://example.com/other", status: .paused, version: 2))
        let recovery = try fixture.restart()
        #expect(recovery.delegates.map(\.settings.url) == ["https://example.com/other"])
        #expect(recovery.delegates.map(\.status) == [.paused])
        #expect(recovery.delegates.map(\.version) == [2])
    }

    @Test(
        "a deleted delegate is removed with its lane, retries, replays and statistics, and its key is not reused",
        arguments: StoreKind.allCases)
    func remove(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: [Event(id: "a")])
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2))
        try fixture.write {
            $0.lanes = [LanePosition(delegate: 2, cursor: 0, position: 1)]
            $0.waiting = [WaitingDelivery(delegate: 2, event: 1, attempts: 1, dueAt: 9, state: .retrying)]
            $0.attempts = [attempt(2, 1, status: 500)]
            $0.statistics = [DeliveryStatistics(delegate: 2, start: 0, failed: 1)]
        }
        let replay = try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.addReplay(delegate: 2, after: 0, until: 1, at: 5)
        }
        try fixture.store.transaction { (transaction) throws(StoreError) in try transaction.removeDelegate(2, at: 99) }

        // A loop that has not heard of it yet reports on.
        try fixture.write {
            $0.lanes = [LanePosition(delegate: 2, cursor: 1, position: 1)]
            $0.waiting = [WaitingDelivery(delegate: 2, event: 1, attempts: 2, dueAt: 9, state: .retrying)]
            $0.attempts = [attempt(2, 1, number: 2, status: 200)]
            $0.replays = [(replay.id, 2, 1)]
            $0.statistics = [DeliveryStatistics(delegate: 2, start: 0, delivered: 1)]
        }
        let recovery = try fixture.restart()
        #expect(recovery.delegates.map(\.key) == [1])
        #expect(recovery.nextDelegateKey == 3)
        #expect(recovery.lanes.isEmpty && recovery.waiting.isEmpty && recovery.decided.isEmpty)
        #expect(recovery.replays.isEmpty)
        let reader = try fixture.store.makeReader()
        #expect(try reader.deletedDelegateID(2) == "dlg_2")
        #expect(try reader.deletedDelegateID(1) == nil)
        #expect(try reader.attempts(event: 1).map(\.record.number) == [1, 2])
        #expect(try reader.statistics(2, since: 0) == [])
        let refused = failure {
            try fixture.transaction { (transaction) throws(StoreError) in
                _ = try transaction.addReplay(delegate: 2, after: 0, until: 1, at: 5)
            }
        }
        #expect(refused == .failed(reason: "delegate 2 was deleted"))
        let error = failure { try fixture.set(WebhookDelegate(2, version: 2)) }
        #expect(error?.description.hasPrefix("The store failed") == true, "a deleted delegate came back")
    }

    @Test(
        "the deliveries of a delegate are removed in parts, those of the earliest events first",
        arguments: StoreKind.allCases)
    func waitingInParts(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: (1...5).map { Event(id: "e\($0)") })
        try fixture.set(WebhookDelegate(1), WebhookDelegate(2))
        try fixture.write { checkpoint in
            checkpoint.waiting = (1...5).map { event in
                WaitingDelivery(
                    delegate: 1, event: event, attempts: 1, dueAt: 9, state: event < 3 ? .exhausted : .retrying)
            }
            checkpoint.waiting += [WaitingDelivery(delegate: 2, event: 1, attempts: 1, dueAt: 9, state: .retrying)]
        }
        for (number, left) in [(2, [3, 4, 5, 1]), (2, [5, 1]), (1, [1]), (0, [1])] as [(Int, [LogPosition])] {
            try fixture.transaction { (transaction) throws(StoreError) in
                #expect(try transaction.removeWaiting(of: 1, limit: 2) == number)
            }
            let rows = try (1...2).flatMap { (key: DelegateKey) in
                try fixture.store.makeReader().rows(
                    StoredRowsQuery(delegate: key, part: .events(0...(.max)), limit: 10))
            }
            #expect(rows.map(\.event) == left)
        }
    }

    @Test("several delegates may have one URL", arguments: StoreKind.allCases)
    func urls(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        for key: DelegateKey in 1...2 { try fixture.set(WebhookDelegate(key, url: "https://example.com/x")) }
        try fixture.store.transaction { (transaction) throws(StoreError) in
            try transaction.removeDelegate(1, at: 99)
            try transaction.setDelegate(WebhookDelegate(3, url: "https://example.com/x"))
        }
        #expect(try fixture.restart().delegates.map(\.key) == [2, 3])
    }
}
