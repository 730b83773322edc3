import HeraldModel
import HeraldTestSupport
import Testing

@Suite("The transactions of every store")
struct TransactionConformance {
    @Test("a commit says where the log ends", arguments: StoreKind.allCases)
    func commits(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let store = fixture.store
        for (number, kind) in [TransactionKind.publishing, .deciding, .publishing].enumerated() {
            let commit = try store.transaction(kind) { transaction throws(StoreError) in
                try transaction.append([Event(id: "a\(number)"), Event(id: "b\(number)")])
                try transaction.append(Event(id: "c\(number)"))
            }
            #expect(commit == Commit(head: LogPosition(number) * 3 + 3))
        }
        #expect(try store.transaction(.recording) { _ in } == Commit(head: 9))
        #expect(try store.transaction(.publishing) { _ in } == Commit(head: 9))
    }

    @Test("the end of the log is known in deciding transactions only", arguments: StoreKind.allCases)
    func head(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: [Event(id: "a")])
        try fixture.store.transaction(.deciding) { transaction throws(StoreError) in
            #expect(try transaction.head == 1)
            try transaction.append(Event(id: "b"))
            #expect(try transaction.head == 2)
        }
        for kind in [TransactionKind.recording, .publishing] {
            let thrown = failure {
                try fixture.store.transaction(kind) { transaction throws(StoreError) in _ = try transaction.head }
            }
            #expect(thrown == .headIsUnknown)
        }
    }

    @Test("a publishing transaction writes events with their values and responses", arguments: StoreKind.allCases)
    func publishing(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let status = AuthStatus(app: .default, userID: "1", isLoggedIn: true, user: [49], since: 1, eventID: "a")
        let answer = StoredAnswer(fingerprint: [1], status: 202, headers: [], body: [])
        let state = AppState(app: .default, state: [49], since: 1, eventID: "a")
        try fixture.set(WebhookDelegate(1))
        try fixture.store.transaction(.publishing) { transaction throws(StoreError) in
            #expect(try transaction.event(app: .default, id: "a") == nil)
            try transaction.append(Event(id: "a"))
            #expect(try transaction.event(app: .default, id: "a")?.event.id == "a")
            try transaction.setAuthStatus(status)
            try transaction.setAppState(state)
            try transaction.setAnswer(answer, app: .default, key: "k", expiresAt: 100)
            var checkpoint = Checkpoint()
            checkpoint.attempts = [attempt(1, 1)]
            try transaction.write(checkpoint)
        }
        #expect(try fixture.restart().appStates == [AppStateVersion(app: .default, eventID: "a")])
        // The body may run several times, and the last one counts.
        var found: (LogPosition?, AuthStatus?, AppState?, StoredAnswer?)
        try fixture.store.transaction(.publishing) { transaction throws(StoreError) in
            found.0 = try transaction.event(app: .default, id: "a")?.sequence
            found.1 = try transaction.authStatus(app: .default, userID: "1")
            found.2 = try transaction.appState(.default)
            found.3 = try transaction.answer(app: .default, key: "k", now: 99)
        }
        #expect(found == (1, status, state, answer))
        #expect(try fixture.store.makeReader().attempts(event: 1).count == 1)
    }

    @Test("a recording transaction writes a checkpoint", arguments: StoreKind.allCases)
    func recording(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: [Event(id: "a")])
        try fixture.set(WebhookDelegate(1))
        try fixture.store.transaction(.recording) { transaction throws(StoreError) in
            var checkpoint = Checkpoint()
            checkpoint.attempts = [attempt(1, 1)]
            checkpoint.lanes = [LanePosition(delegate: 1, cursor: 1, position: 1)]
            try transaction.write(checkpoint)
        }
        #expect(try fixture.restart().lanes.map(\.cursor) == [1])
        #expect(try fixture.store.makeReader().attempts(event: 1).count == 1)
    }

    @Test("a transaction notices when others have changed what it has read", arguments: StoreKind.shared)
    func outdated(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind)
        let store = fixture.store
        var runs = 0
        let thrown = failure {
            try store.transaction(.publishing) { transaction throws(StoreError) in
                runs += 1
                let isNew = try transaction.event(app: .default, id: "a") == nil
                // During the first run, another process publishes it.
                if runs == 1 {
                    try store.transaction(.publishing) { other throws(StoreError) in try other.append(Event(id: "a")) }
                }
                if isNew { try transaction.append(Event(id: "a")) }
            }
        }
        // A store that runs the body again lets it see the change.
        #expect(thrown == .outdated || runs > 1)
        #expect(try store.recover().head == 1)
    }

    @Test("a healthy store says so, and gives back no more than it has", arguments: StoreKind.allCases)
    func health(_ kind: StoreKind) throws {
        let fixture = try StoreFixture(kind, appending: [Event(id: "a")])
        try fixture.store.health()
        try fixture.store.checkFiles()
        if case .failed(let error) = try fixture.store.checkpointIfDue() { throw error }
        #expect(fixture.store.damagedEvents.count == 0)
        try fixture.transaction { (transaction) throws(StoreError) in
            #expect(try transaction.giveBack(bytes: 1 << 20) >= 0)
        }
    }
}
