import HeraldJSON
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

@Suite("Auth and app state in the hub", .timeLimit(.minutes(20)))
struct FamilyTests {
    private final class Listener: EventDelegate {
        let heard = Recorder<Event>()
        func published(_ batch: EventBatch) { for event in batch.events { heard.record(event) } }
    }

    /// A hub with what a client posts as JSON, and what its delegates heard.
    private struct Bench {
        let bench: HubBench
        let listener = Listener()

        init(_ store: RefusingStore = RefusingStore()) throws {
            bench = try HubBench(store: store)
            bench.hub.addDelegate(listener, description: "test")
        }

        @discardableResult
        func post(_ events: String...) async throws -> [PublishedEvent] {
            try await bench.hub.publish(drafts(events))
        }

        func drafts(_ events: [String]) throws -> [EventDraft] {
            var errors: [FieldError] = []
            let drafts = try events.compactMap { json in
                EventInput.read(
                    try JSONDocument(parsing: json).root,
                    .init(app: .default, now: bench.hub.clock.wall(), ids: bench.hub.ids), &errors)
            }
            #expect(errors.isEmpty)
            return drafts
        }

        /// The types that were heard since the last question.
        var types: [String] { listener.heard.items.map { String($0.type.dropFirst(5)) } }
    }

    private func login(_ id: String, user: Int = 1, more: String = "") -> String {
        #"{"type": "auth.logged_in", "id": "\#(id)", "data": {"user": {"id": \#(user)\#(more)}}}"#
    }

    private func logout(_ id: String, user: Int = 1) -> String {
        #"{"type": "auth.logged_out", "id": "\#(id)", "subject": "user:\#(user)"}"#
    }

    @Test("no delegate is registered with more current state than one transaction takes")
    func tooMuchState() async throws {
        let bench = try Bench()
        let hub = bench.bench.hub
        let name = #", "name": "\#(String(repeating: "x", count: 250_000))""#
        for user in 1...18 { try await bench.post(login("e\(user)", user: user, more: name)) }
        let head = hub.head
        func register(_ users: ClosedRange<Int>) async -> WriteResult<RegistryWrite.Outcome> {
            let subjects = users.map { "user:\($0)" }
            let settings = WebhookSettings.made { $0.subjects = subjects }
            var registration = RegistryWrite.Registration(settings: settings, secret: .test)
            registration.replaysCurrentState = true
            return await bench.bench.change(.register(registration))
        }
        let refused = await register(1...18)
        guard case .done(.invalid(let errors)) = refused else { throw Unexpected("\(refused)") }
        #expect(errors.map(\.pointer) == ["/replay_current_state"])
        #expect(hub.head == head && hub.committed.registry.count == 0)
        let taken = await register(1...2)
        guard case .done(.registered) = taken else { throw Unexpected("\(taken)") }
        #expect(hub.head == head + 2)
        await bench.bench.stop()
    }

    @Test("a login right behind the erasure of the user's status changes the status again")
    func erased() async throws {
        let bench = try Bench()
        try await bench.post(login("e1"))
        let hub = bench.bench.hub
        let drafts = try bench.drafts([login("e2")])
        hub.submit(
            DeliveryWrite(action: .eraseSubject("user:1", after: "")) { [weak hub] _ in
                hub?.publish(Publication(drafts: drafts) { _ in })
            })
        try await eventually("the second login") { bench.types.count >= 4 }
        #expect(bench.types == ["logged_in", "status_changed", "logged_in", "status_changed"])
    }

    @Test("a later step of an erasure that removes a status leaves none in memory")
    func erasedLater() async throws {
        let bench = try Bench()
        try await bench.post(login("e1"))
        let hub = bench.bench.hub
        #expect(hub.committed.auth.status(.default, userID: "1") != nil)
        await withCheckedContinuation { done in
            hub.submit(DeliveryWrite(action: .eraseSubject("user:1", after: "key")) { _ in done.resume() })
        }
        #expect(bench.bench.store.memory.read { $0.authStatus.isEmpty })
        #expect(hub.committed.auth.status(.default, userID: "1") == nil)
        await bench.bench.stop()
    }

    @Test("a status changes with the first login and the next logout, and not in between")
    func derived() async throws {
        let bench = try Bench()
        try await bench.post(login("e1"))
        try await bench.post(login("e2"))
        try await bench.post(logout("e3"))
        try await bench.post(logout("e4"))
        try await bench.post(login("e5", user: 2))
        #expect(
            bench.types == [
                "logged_in", "status_changed", "logged_in", "logged_out", "status_changed", "logged_out", "logged_in",
                "status_changed",
            ])
        let changed = try JSONDocument(parsing: Array(bench.listener.heard.items[4].data))
        #expect(changed["status"]?.string == "logged_out" && changed["user_id"]?.string == "1")
        #expect(changed["cause"]?.string == "e3" && changed["user"]?["id"]?.integer == 1)
        #expect(bench.listener.heard.items[4].subject == "user:1")
        let status = try #require(bench.bench.hub.committed.auth.status(.default, userID: "1"))
        #expect(!status.isLoggedIn && status.eventID == "e3")
        #expect(bench.bench.store.memory.read { $0.authStatus[.init(app: .default, name: "1")] } == status)
        await bench.bench.stop()
    }

    /// The store compares the ids of users by their bytes.
    @Test("users are different if the bytes of their ids are, even if Unicode has them as equivalent")
    func equivalentIDs() async throws {
        let bench = try Bench()
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        #expect(composed == decomposed)
        try await bench.post(
            #"{"type": "auth.logged_in", "id": "e1", "data": {"user": {"id": "\#(composed)"}}}"#)
        let auth = bench.bench.hub.committed.auth
        #expect(auth.status(.default, userID: composed)?.isLoggedIn == true)
        #expect(auth.status(.default, userID: decomposed) == nil)
        await bench.bench.stop()
    }

    @Test("within one batch each change is announced at its position")
    func withinBatch() async throws {
        let bench = try Bench()
        let posted = try await bench.post(login("e1"), login("e2"), logout("e3"), login("e4"), login("e5", user: 2))
        #expect(posted.map(\.event.id) == ["e1", "e2", "e3", "e4", "e5"])
        #expect(
            bench.types == [
                "logged_in", "status_changed", "logged_in", "logged_out", "status_changed", "logged_in",
                "status_changed", "logged_in", "status_changed",
            ])
        #expect(bench.bench.hub.committed.auth.status(.default, userID: "1")?.eventID == "e4")
        await bench.bench.stop()
    }

    @Test("a duplicate login changes nothing")
    func duplicate() async throws {
        let bench = try Bench()
        try await bench.post(login("e1"))
        try await bench.post(logout("e2"))
        #expect(try await bench.post(login("e1"))[0].disposition == .existed)
        #expect(bench.types.count == 4)
        #expect(bench.bench.hub.committed.auth.status(.default, userID: "1")?.isLoggedIn == false)
        await bench.bench.stop()
    }

    @Test("after a restart the store has the status")
    func restart() async throws {
        let store = RefusingStore()
        let bench = try Bench(store)
        try await bench.post(login("e1", more: #", "plan": "pro""#))
        await bench.bench.stop()
        let again = try Bench(store)
        #expect(again.bench.hub.committed.auth.status(.default, userID: "1") == nil)
        try await again.post(login("e2"))
        #expect(again.types == ["logged_in"])
        try await again.post(logout("e3"))
        #expect(again.types == ["logged_in", "logged_out", "status_changed"])
        await again.bench.stop()
    }

    @Test("a status published by a client is kept, and the projection and the store agree on it")
    func told() async throws {
        let store = RefusingStore()
        let first = try Bench(store)
        try await first.post(login("e1"))
        await first.bench.stop()
        let bench = try Bench(store)
        try await bench.post(
            #"{"type": "auth.status_changed", "id": "e2", "data": {"user_id": "1", "status": "logged_out"}}"#)
        #expect(bench.types == ["status_changed"])
        let stored = try #require(store.memory.read { $0.authStatus[.init(app: .default, name: "1")] })
        #expect(!stored.isLoggedIn && stored.eventID == "e2" && stored.user == Array(#"{"id": 1}"#.utf8))
        let projected = bench.bench.hub.committed.auth.status(.default, userID: "1")
        #expect(projected == nil || projected == stored)
        await bench.bench.stop()
    }

    @Test("an event with a far future time does not affect later ids")
    func futureTime() async throws {
        let bench = try Bench()
        let now = bench.bench.hub.clock.wall()
        try await bench.post(
            #"{"type": "auth.logged_in", "time": "9999-12-31T23:59:59Z", "data": {"user": {"id": 1}}}"#)
        let id = bench.bench.hub.ids.next("evt_", time: now)
        #expect(id.prefix(10) <= ULIDGenerator.text("evt_", time: now + 60_000, high: 0, low: 0).prefix(10))
        await bench.bench.stop()
    }

    @Test("every app state contains the previous one, also within one batch")
    func appState() async throws {
        let bench = try Bench()
        func state(_ id: String, _ value: String) -> String {
            #"{"type": "app_state.changed", "id": "\#(id)", "data": {"state": \#(value)}}"#
        }
        let posted = try await bench.post(state("s1", #""idle""#), state("s2", #"{"a": 1}"#), state("s3", "null"))
        #expect(
            posted.map { String(decoding: $0.event.data, as: UTF8.self) } == [
                #"{"state": "idle","previous":null}"#, #"{"state": {"a": 1},"previous":"idle"}"#,
                #"{"state": null,"previous":{"a": 1}}"#,
            ])
        #expect(bench.bench.hub.committed.appState.state(.default)?.eventID == "s3")
        let unchanged = EventDraft(
            event: Event("app_state.changed", id: "s4", data: #"{"state":null}"#), mayExist: false,
            family: .appState(state: Array("null".utf8), onlyIfChanged: true))
        #expect(try await bench.bench.hub.publish([unchanged])[0].disposition == .unchanged)
        let stale = EventDraft(
            event: Event("app_state.changed", id: "s5", data: #"{"state":1}"#), mayExist: false,
            family: .appState(state: Array("1".utf8), ifMatch: ["s2"]))
        #expect(try await bench.bench.hub.publish([stale])[0].disposition == .preconditionFailed)
        #expect(bench.bench.hub.head == 3)
        await bench.bench.stop()
        let again = try Bench(bench.bench.store)
        #expect(again.bench.hub.committed.appState.version(.default) == "s3")
        await again.bench.stop()
    }

    @Test("a status that is set only at a version keeps other processes out, which may change the user's data alone")
    func conditionalStatus() {
        func kind(_ type: String, _ family: EventDraft.Family) -> TransactionKind {
            let draft = EventDraft(event: Event(type, id: "e"), mayExist: false, family: family)
            return Intake.Submission.publish(Publication(drafts: [draft]) { _ in }).kind
        }
        let login = "auth.logged_in"
        #expect(kind(login, .auth(userID: "42", isLoggedIn: true, user: nil, ifMatch: ["e1-x"])) == .deciding)
        #expect(kind(login, .auth(userID: "42", isLoggedIn: true, user: nil)) == .publishing)
        // Each change of the state has an event of its own.
        #expect(kind("app_state.changed", .appState(state: [49], ifMatch: ["e1"])) == .publishing)
    }

    @Test("memory has the statuses and states of events with as many values as a publication may have")
    func manyValues() throws {
        let list = "[" + String(repeating: "1,", count: 19_999) + "1]"
        let states = AppStateProjection([])
        let changed = Event("app_state.changed", id: "s", data: #"{"state":\#(list)}"#)
        states.published(EventBatch(first: 1, events: [changed]))
        #expect(states.version(.default) == "s" && states.state(.default)?.state == Array(list.utf8))

        let statuses = AuthProjection()
        let status = Event(
            "auth.status_changed", id: "1",
            data: #"{"user_id":"42","status":"logged_in","user":null,"cause":"c"}"#)
        let logout = Event("auth.logged_out", id: "2", subject: "user:42", data: #"{"more":\#(list)}"#)
        statuses.published(EventBatch(first: 1, events: [status, logout]))
        let current = try #require(statuses.status(.default, userID: "42"))
        #expect(!current.isLoggedIn)
    }
}
