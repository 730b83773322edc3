import HeraldModel
import HeraldTestSupport
import Testing

@Suite("The list of changes of every shared store")
struct ChangeConformance {
    private let all: [Change] = [
        .delegate(7), .key("key_1"), .session([0, 10, 255]), .app(AppKey(rawValue: 3)),
        .eventType("a.b", AppKey(rawValue: 3)), .delivery(DeliveryKey(delegate: 7, event: 12)), .replay(4, 7),
        .erasing(12), .event(12), .statuses(.default), .block(5), .firstEvent, .pending(.default),
    ]

    @Test("a change is a word and a key, and can be read again")
    func text() {
        for change in all { #expect(Change(text: change.text) == change) }
        for text in ["", "delegate", "delegate x", "session 0", "session xx", "type 3", "first 1", "delegates 7"] {
            #expect(Change(text: text) == nil, "\(text)")
        }
    }

    @Test(
        "changes have numbers without gaps, and are kept with the name of their transaction",
        arguments: StoreKind.shared)
    func list(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        #expect(fixture.store.isShared)
        for (name, changes) in [(3, all), (-1, []), (2, [.firstEvent])] as [(Int64, [Change])] {
            try fixture.transaction { transaction throws(StoreError) in
                try transaction.append(Event(id: "e\(name)"))
                try transaction.record(changes, name: name)
            }
        }
        let thrown = failure {
            try fixture.store.transaction(.deciding) { transaction throws(StoreError) in
                try transaction.record([.firstEvent], name: 4)
                throw .full
            }
        }
        #expect(thrown == .full)
        let reader = try fixture.store.makeReader()
        #expect(try reader.ends(isFresh: false) == StoreEnds(event: 3, change: 3))
        #expect(try fixture.openAnother().makeReader().ends(isFresh: true) == StoreEnds(event: 3, change: 3))
        let sets = try reader.changes(after: 0, limit: 10)
        #expect(sets.map(\.number) == [1, 2, 3] && sets.map(\.name) == [3, -1, 2])
        #expect(sets.map(\.changes) == [all, [], [.firstEvent]])
        #expect(try reader.changes(after: 1, limit: 1).map(\.number) == [2])
        #expect(try reader.changes(after: 3, limit: 10).isEmpty && reader.changes(after: 9, limit: 10).isEmpty)
        #expect(try fixture.restart().lastChange == 3)
    }

    @Test("what has changed is read as it is now; what is missing does not exist", arguments: StoreKind.shared)
    func rows(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let key = APIKey(id: "key_1", name: "", scopes: [.publish], digest: [1], createdAt: 5)
        let session = Session(digest: [2], kind: .session, app: .default, key: "key_1", expiresAt: 9)
        let app = App(
            key: AppKey(rawValue: 2), id: "app_2", settings: .init(name: "two"), createdAt: 1, updatedAt: 1, version: 1)
        let type = EventTypeRecord(
            app: .default, type: "a.b", description: "", example: nil, schema: nil, check: .off, createdAt: 1,
            updatedAt: 1, version: 1)
        try fixture.append([Event(id: "a", subject: "s")])
        let replay = try fixture.transaction { transaction throws(StoreError) in
            try transaction.setDelegate(WebhookDelegate(1))
            try transaction.setKey(key)
            try transaction.setSession(session)
            try transaction.setApp(app)
            try transaction.setEventType(type)
            var checkpoint = Checkpoint()
            checkpoint.waiting = [WaitingDelivery(delegate: 1, event: 1, attempts: 2, dueAt: 7, state: .retrying)]
            try transaction.write(checkpoint)
            return try transaction.addReplay(delegate: 1, after: 0, until: 1, at: 5)
        }
        let reader = try fixture.store.makeReader()
        let missing: Set<Change> = [.delegate(9), .key("x"), .session([9]), .eventType("x", .default), .replay(9, 1)]
        let rows = try reader.rows(
            of: missing.union([
                .delegate(1), .key("key_1"), .session([2]), .app(app.key), .eventType("a.b", .default),
                .delivery(DeliveryKey(delegate: 1, event: 1)), .delivery(DeliveryKey(delegate: 1, event: 2)),
                .replay(replay.id, 1), .block(0), .block(7), .firstEvent, .event(1), .statuses(.default),
            ]))
        #expect(rows.delegates.map(\.id) == ["dlg_1"] && rows.keys == [key] && rows.sessions == [session])
        #expect(rows.apps.map(\.id) == ["app_2"] && rows.eventTypes == [type] && rows.replays == [replay])
        #expect(rows.deliveries.map(\.attempts) == [2] && rows.deliveries.map(\.subject) == ["s"])
        #expect(rows.blocks.map(\.block) == [0] && rows.blocks.map(\.events) == [1] && rows.first == 1)
        #expect(try reader.rows(of: missing).first == nil)
    }

    @Test(
        "a delivery that was requested stays as it is until the owner of its lane has received it",
        arguments: StoreKind.shared)
    func requests(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: [Event(id: "a"), Event(id: "b")])
        try fixture.set(WebhookDelegate(1))
        func row(_ event: LogPosition, _ state: WaitingDelivery.State, attempts: Int = 3) -> WaitingDelivery {
            WaitingDelivery(delegate: 1, event: event, attempts: attempts, dueAt: 9, state: state)
        }
        func request(_ body: (any StoreTransaction) throws(StoreError) -> Void) throws {
            try fixture.transaction { transaction throws(StoreError) in
                try body(transaction)
                try transaction.record([], name: 0)
            }
        }
        func states() throws -> [WaitingDelivery.State] {
            try fixture.store.makeReader().deliveries(DeliveryQuery(Set(WaitingDelivery.State.allCases))).map(\.state)
        }
        func write(known: Int64, _ waiting: [WaitingDelivery], ended: LogPosition...) throws {
            try fixture.write {
                ($0.known, $0.waiting) = (known, waiting)
                $0.ended = ended.map { DeliveryKey(delegate: 1, event: $0) }
            }
        }
        try write(known: 0, [row(2, .exhausted)])
        // One has a row, the other one has none yet.
        try request { transaction throws(StoreError) in
            #expect(try transaction.redeliver(DeliveryQuery([.exhausted]), at: 5).count == 1)
            try transaction.redeliver([row(1, .retrying, attempts: 0)])
        }
        try write(known: 0, [row(2, .exhausted)], ended: 1)
        try write(known: 0, [row(1, .exhausted)], ended: 2)
        #expect(try states() == [.retrying, .retrying])
        try write(known: 1, [row(2, .exhausted)], ended: 1)
        #expect(try states() == [.exhausted])
        try write(known: 1, [row(2, .retrying)])
        try request { transaction throws(StoreError) in
            #expect(try transaction.drop(DeliveryQuery([.retrying]), at: 5).count == 1)
        }
        try write(known: 1, [row(2, .retrying)])
        #expect(try states() == [.dropped])
        // A start has forgotten the row, and the owner of its lane has not read yet that it was cancelled.
        try write(known: 1, [], ended: 2)
        #expect(try states() == [.dropped])
        // It has succeeded before it was cancelled.
        try fixture.write {
            ($0.known, $0.attempts) = (1, [attempt(1, 2)])
            $0.ended = [DeliveryKey(delegate: 1, event: 2)]
        }
        #expect(try states() == [])
    }

    @Test("another process is notified of what was committed", arguments: StoreKind.shared)
    func notified(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        let flag = Flag()
        try fixture.openAnother().observe {
            flag.set()
            return true
        }
        let store = fixture.store
        // It may not listen yet.
        try await eventually("a notification") {
            try store.transaction(.deciding) { transaction throws(StoreError) in
                try transaction.record([.firstEvent], name: 1)
            }
            return flag.isSet
        }
    }
}
