import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Current values and responses in every store")
struct StateConformance {
    private let user2 = AppKey(rawValue: 2)

    @Test("an auth status can be read, also in its transaction", arguments: StoreKind.allCases)
    func authStatus(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let status = AuthStatus(
            app: .default, userID: "42", isLoggedIn: true, user: Array(#"{"id":42}"#.utf8), since: 5, eventID: "e1")
        let later = AuthStatus(app: .default, userID: "42", isLoggedIn: false, user: [], since: 6, eventID: "e2")
        try fixture.store.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.authStatus(app: .default, userID: "42") == nil)
            try transaction.setAuthStatus(status)
            #expect(try transaction.authStatus(app: .default, userID: "42") == status)
        }
        _ = try fixture.restart()
        #expect(try fixture.store.makeReader().authStatus(app: .default, userID: "42") == status)
        #expect(try fixture.store.makeReader().authStatus(app: user2, userID: "42") == nil)
        try fixture.store.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.authStatus(app: .default, userID: "42") == status)
            try transaction.setAuthStatus(later)
        }
        #expect(try fixture.store.makeReader().authStatus(app: .default, userID: "42") == later)
    }

    @Test("users are distinguished by the bytes of their ids, in one transaction", arguments: StoreKind.allCases)
    func exactUsers(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        // Swift takes them for equal.
        let ids = ["\u{e9}", "e\u{301}"]
        var seen: [Bool] = []
        try fixture.store.transaction(.publishing) { (transaction) throws(StoreError) in
            // The body may run several times, and the last one counts.
            seen = []
            for (number, id) in ids.enumerated() {
                seen.append(try transaction.authStatus(app: .default, userID: id) != nil)
                try transaction.append(Event(id: "e\(number)"))
                try transaction.setAuthStatus(
                    AuthStatus(
                        app: .default, userID: id, isLoggedIn: true, user: [49], since: Int64(number),
                        eventID: "e\(number)"))
            }
        }
        #expect(seen == [false, false])
        _ = try fixture.restart()
        let reader = try fixture.store.makeReader()
        let found = try ids.map { try reader.authStatus(app: .default, userID: $0)?.eventID }
        #expect(found == ["e0", "e1"])
    }

    @Test(
        "the version of the last app state of each app is recovered, and the state is read",
        arguments: StoreKind.allCases)
    func appState(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let states = [
            AppState(app: .default, state: Array("\"open\"".utf8), since: 1, eventID: "a"),
            AppState(app: user2, state: Array("{}".utf8), since: 2, eventID: "b"),
            AppState(app: .default, state: Array("null".utf8), since: 3, eventID: "c"),
        ]
        for state in states {
            try fixture.transaction { (transaction) throws(StoreError) in
                try transaction.setAppState(state)
                #expect(try transaction.appState(state.app) == state)
            }
        }
        let recovered = try fixture.restart().appStates
        #expect(recovered == [states[2], states[1]].map { AppStateVersion(app: $0.app, eventID: $0.eventID) })
        let reader = try fixture.store.makeReader()
        #expect(try reader.appState(.default) == states[2] && reader.appState(user2) == states[1])
        #expect(try reader.appState(AppKey(rawValue: 3)) == nil)
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.appState(user2) == states[1])
            #expect(try transaction.appState(AppKey(rawValue: 3)) == nil)
            try transaction.removeApp(user2, at: 9)
            #expect(try transaction.appState(user2) == nil)
        }
    }

    @Test(
        "event types are stored as last described, and a start reads summaries of them", arguments: StoreKind.allCases)
    func eventTypes(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        func type(_ name: String, app: AppKey = .default, _ check: EventTypeRecord.Check, version: Int64 = 1)
            -> EventTypeRecord
        {
            EventTypeRecord(
                app: app, type: name, description: "what \(name) means", example: check == .off ? nil : Array("1".utf8),
                schema: check == .off ? nil : Array("true".utf8), check: check, createdAt: 5, updatedAt: 5 + version,
                version: version)
        }
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.setEventType(type("b", .off))
            try transaction.setEventType(type("a", .report))
            try transaction.setEventType(type("a", app: user2, .enforce))
            try transaction.setEventType(type("c", .off))
        }
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.setEventType(type("b", .enforce, version: 2))
            try transaction.removeEventType("c", app: .default)
            try transaction.removeEventType("b", app: user2)
        }
        let left = [type("a", .report), type("b", .enforce, version: 2), type("a", app: user2, .enforce)]
        #expect(try fixture.restart().eventTypes == left.map { EventTypeSummary($0) })
        let reader = try fixture.store.makeReader()
        #expect(try reader.eventTypes(["b", "c", "a"], app: .default) == [left[1], left[0]])
        #expect(try reader.eventTypes(["a"], app: user2) == [left[2]])
        #expect(try reader.eventTypes([], app: .default) == [])
    }

    @Test("keys are stored as last written", arguments: StoreKind.allCases)
    func keys(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        func key(_ id: String, app: AppKey = .default, expiresAt: Int64? = nil, lastUsedAt: Int64? = nil) -> APIKey {
            APIKey(
                app: app, id: id, name: "the key \(id)", scopes: [.publish, .read], digest: Array(id.utf8),
                createdAt: 5,
                expiresAt: expiresAt, lastUsedAt: lastUsedAt)
        }
        let worker = APIKey(
            app: user2, id: "key_e", name: "", scopes: [.consume], digest: [1], createdAt: 6, requestsPerSecond: 7,
            delegate: "dlg_1")
        try fixture.transaction { (transaction) throws(StoreError) in
            for id in ["key_a", "key_b", "key_c"] { try transaction.setKey(key(id)) }
        }
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.setKey(key("key_b", expiresAt: 9, lastUsedAt: 8))
            try transaction.setKey(key("key_d", app: user2))
            try transaction.setKey(worker)
            try transaction.removeKey("key_a")
            try transaction.removeKey("key_unknown")
        }
        #expect(
            try fixture.restart().keys == [
                key("key_b", expiresAt: 9, lastUsedAt: 8), key("key_c"), key("key_d", app: user2), worker,
            ])
    }

    @Test("apps are stored as last written, and no key is used twice", arguments: StoreKind.allCases)
    func apps(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        func app(_ key: Int64, _ name: String, maxDelegates: Int? = nil, version: Int64 = 1) -> App {
            App(
                key: AppKey(rawValue: key), id: "app_\(key)",
                settings: App.Settings(
                    name: name, maxDelegates: maxDelegates, eventsPerSecond: maxDelegates.map { $0 + 1 },
                    maxStoredBytes: maxDelegates.map { Int64($0) << 40 },
                    portal: maxDelegates == nil
                        ? Portal()
                        : Portal(
                            title: "The shop", logo: "data:image/png;base64,iVBORw0KGgo=", color: "#0b5cad",
                            language: .german, frameOrigins: ["https://a.example", "https://b.example"])),
                createdAt: 5, updatedAt: 5 + version, version: version)
        }
        #expect(try fixture.restart().apps.isEmpty)
        let status = AuthStatus(
            app: AppKey(rawValue: 4), userID: "42", isLoggedIn: true, user: Array("{}".utf8), since: 5, eventID: "e1")
        try fixture.transaction { (transaction) throws(StoreError) in
            for (key, name) in [(2, "two"), (3, "three"), (4, "four")] as [(Int64, String)] {
                try transaction.setApp(app(key, name))
            }
            try transaction.setAuthStatus(status)
        }
        try fixture.transaction { (transaction) throws(StoreError) in
            try transaction.setApp(app(2, "zwei", maxDelegates: 7, version: 2))
            try transaction.removeApp(AppKey(rawValue: 4), at: 9)
        }
        let recovery = try fixture.restart()
        #expect(recovery.apps == [app(2, "zwei", maxDelegates: 7, version: 2), app(3, "three")])
        #expect(recovery.nextAppKey == AppKey(rawValue: 5))
        #expect(try fixture.store.makeReader().authStatus(app: AppKey(rawValue: 4), userID: "42") == nil)
    }

    @Test("auth statuses and responses of an app are removed in parts", arguments: StoreKind.allCases)
    func valuesInParts(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let response = StoredAnswer(fingerprint: [1], status: 202, headers: [], body: [])
        try fixture.transaction { (transaction) throws(StoreError) in
            for (app, count) in [(user2, 5), (.default, 1)] as [(AppKey, Int)] {
                for number in 1...count {
                    try transaction.setAuthStatus(
                        AuthStatus(
                            app: app, userID: "\(number)", isLoggedIn: true, user: Array("{}".utf8), since: 5,
                            eventID: "e"))
                }
                for number in 1...3 * count {
                    try transaction.setAnswer(response, app: app, key: "k\(number)", expiresAt: 9)
                }
            }
        }
        for number in [6, 6, 3, 0] {
            try fixture.transaction { (transaction) throws(StoreError) in
                #expect(try transaction.removeValues(of: user2, limit: 6) == number)
            }
        }
        let reader = try fixture.store.makeReader()
        #expect(try reader.authStatus(app: user2, userID: "5") == nil)
        #expect(try reader.authStatus(app: .default, userID: "1") != nil)
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.answer(app: user2, key: "k1", now: 1) == nil)
            #expect(try transaction.answer(app: .default, key: "k3", now: 1) != nil)
        }
    }

    @Test("the audit log contains its entries, newest first", arguments: StoreKind.allCases)
    func audit(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let entries = (1...5).map { (number: Int) -> AuditEntry in
            AuditEntry(
                Provenance(actor: "key_\(number)", address: "192.0.2.\(number)", action: "DELETE /v1/delegates/{id}"),
                app: number == 2 ? user2 : .default, target: number == 3 ? nil : "dlg_\(number)", time: Int64(number))
        }
        for entry in entries {
            try fixture.transaction { (transaction) throws(StoreError) in try transaction.addAudit(entry) }
        }
        _ = try fixture.restart()
        let reader = try fixture.store.makeReader()
        let newest = try reader.audit(before: .max, limit: 3)
        #expect(newest.map(\.entry) == [entries[4], entries[3], entries[2]])
        #expect(try reader.audit(before: newest[2].id, limit: 9).map(\.entry) == [entries[1], entries[0]])
    }

    @Test(
        "beyond the limit of the audit log the app with most entries loses its oldest, and no other app",
        arguments: StoreKind.allCases)
    func auditLimit(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let provenance = Provenance(actor: "key_1", address: "192.0.2.1", action: "DELETE /v1/delegates/{id}")
        try fixture.transaction { (transaction) throws(StoreError) in
            for number in 1...AuditEntry.limit + 3 {
                let app = number <= 2 ? user2 : .default
                try transaction.addAudit(AuditEntry(provenance, app: app, target: nil, time: number))
            }
        }
        let last = try #require(try fixture.store.makeReader().audit(before: .max, limit: 1).first?.id)
        func trim(from id: Int64) throws -> Int64 {
            try fixture.transaction { (transaction) throws(StoreError) in try transaction.trimAudit(from: id) }
        }
        #expect(try trim(from: last + 1) == last + 1, "the log is not counted yet")
        for _ in 1...2 {
            #expect(try trim(from: last) == last + AuditEntry.slack)
            let kept = try fixture.store.makeReader().audit(before: .max, limit: .max).map(\.entry.time)
            #expect(kept.count == Int(AuditEntry.limit) && kept.suffix(3) == [6, 2, 1])
        }
    }

    @Test("the log of one app contains nothing of another", arguments: StoreKind.allCases)
    func eventsOfApps(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let three = AppKey(rawValue: 3)
        try fixture.append([
            Event(id: "a", app: user2), Event(id: "b"), Event(id: "c", app: three), Event(id: "d", app: user2),
            Event(id: "a"),
        ])
        for (app, ids) in [(AppKey.default, ["a", "b"]), (user2, ["d", "a"]), (three, ["c"])] {
            var query = EventQuery()
            query.app = app
            #expect(try fixture.store.makeReader().events(query).map(\.event.id) == ids)
        }
    }

    @Test("a response is found until it expires, and removed in steps", arguments: StoreKind.allCases)
    func answers(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let answer = StoredAnswer(
            fingerprint: [1, 2, 3], status: 202, headers: [KeyValue("location", "/v1/events/a")], body: Array("{}".utf8)
        )
        let empty = StoredAnswer(fingerprint: [], status: 204, headers: [], body: [])
        try fixture.store.transaction { (transaction) throws(StoreError) in
            try transaction.setAnswer(answer, app: .default, key: "k", expiresAt: 100)
            try transaction.setAnswer(empty, app: user2, key: "k", expiresAt: 50)
            #expect(try transaction.answer(app: .default, key: "k", now: 99) == answer)
        }
        _ = try fixture.restart()
        try fixture.store.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.answer(app: .default, key: "k", now: 99) == answer)
            #expect(try transaction.answer(app: .default, key: "k", now: 100) == nil)
            #expect(try transaction.answer(app: user2, key: "k", now: 49) == empty)
            #expect(try transaction.answer(app: .default, key: "other", now: 0) == nil)
            #expect(try transaction.removeExpiredAnswers(now: 100, limit: 0) == 0)
        }
        try fixture.store.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.answer(app: user2, key: "k", now: 0) == empty)
            #expect(try transaction.removeExpiredAnswers(now: 60, limit: 10) == 1)
        }
        try fixture.store.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.answer(app: user2, key: "k", now: 0) == nil)
            #expect(try transaction.answer(app: .default, key: "k", now: 0) == answer)
            try transaction.setAnswer(empty, app: .default, key: "k", expiresAt: 200)
            #expect(try transaction.answer(app: .default, key: "k", now: 150) == empty)
        }
    }
}
