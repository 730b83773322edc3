import Delegation
import HeraldCore
import HeraldJSON
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import Testing

/// Writes down the ids of the events that it is told of.
private final class Observer: AuthEventsDelegate, StateDelegate, Sendable {
    let told = Recorder<String>()
    let auth = Recorder<AuthEvent<String>>()

    func userIsLoggedIn(user: EventUser, sender: any DelegateSender) {
        told.record(user.event.id)
        auth.record(.loggedIn(user.id))
    }
    func userIsLoggedOut(user: EventUser?, sender: any DelegateSender) {
        told.record(user?.event.id ?? "?")
        auth.record(.loggedOut(user?.id))
    }
    func userAuthStatusChanged(user: EventUser?, isLoggedIn: Bool?, sender: any DelegateSender) {
        told.record(user?.event.id ?? "?")
        auth.record(.statusChanged(user?.id, isLoggedIn: isLoggedIn))
    }
    func stateDidChange(from old: EventState, to new: EventState, sender: any DelegateSender) {
        told.record("\(String(decoding: old.json, as: UTF8.self)) → \(String(decoding: new.json, as: UTF8.self))")
    }
}

@Suite("Typed delegates of a hub", .timeLimit(.minutes(20)))
struct TypedDelegateTests {
    /// Posts as a client would.
    private func post(_ bench: HubBench, _ events: String...) async throws {
        var errors: [FieldError] = []
        let drafts = try events.compactMap { json in
            EventInput.read(
                try JSONDocument(parsing: json).root,
                .init(app: .default, now: bench.hub.clock.wall(), ids: bench.hub.ids), &errors)
        }
        #expect(errors.isEmpty)
        _ = try await bench.hub.publish(drafts)
    }

    private func login(_ id: String, user: Int, plan: String) -> String {
        #"{"type": "auth.logged_in", "id": "\#(id)", "data": {"user": {"id": \#(user), "plan": "\#(plan)"}}}"#
    }

    private func logout(_ id: String, user: Int) -> String {
        #"{"type": "auth.logged_out", "id": "\#(id)", "subject": "user:\#(user)"}"#
    }

    private func state(_ id: String, _ value: String) -> String {
        #"{"type": "app_state.changed", "id": "\#(id)", "data": {"state": \#(value)}}"#
    }

    /// A filter of the users with a plan.
    private func filter(plan: String) throws -> ContentFilter {
        try #require(ContentFilter(text: Array(#"{"data":{"user":{"plan":["\#(plan)"]}}}"#.utf8)))
    }

    @Test("receive the family's events in the order of the log, typed")
    func auth() async throws {
        let bench = try HubBench()
        let observer = Observer()
        let registration = bench.hub.addDelegate(
            observer as any AuthEventsDelegate<EventUser> & Sendable, description: "test")
        #expect(registration != nil)
        try await post(bench, login("in", user: 1, plan: "pro"), #"{"type": "order.paid", "id": "other"}"#)
        try await post(bench, logout("out", user: 1))
        #expect(
            observer.auth.items == [
                .loggedIn("1"), .statusChanged("1", isLoggedIn: true), .loggedOut("1"),
                .statusChanged("1", isLoggedIn: false),
            ])
        #expect(bench.hub.inMemoryDelegates.last?.description == "test")
        await bench.stop()
    }

    @Test("receive exactly the events of a webhook with the same filters", arguments: [0, 1, 2, 3, 4])
    func likeAWebhook(_ which: Int) async throws {
        let selections = [
            EventSelection(),
            EventSelection(events: [.exact("auth.logged_in")]),
            EventSelection(events: [.prefix("auth.")], subjects: ["user:2"]),
            EventSelection(filter: try filter(plan: "pro")),
            EventSelection(events: [.exact("app_state.changed")]),
        ]
        let selection = selections[which]
        let bench = try HubBench()
        let webhook = await bench.register {
            $0.events = selection.events.contains(.any) ? [.prefix("auth.")] : selection.events
            $0.subjects = Array(selection.subjects)
            $0.filter = selection.filter
        }
        #expect(webhook != nil)
        let all = await bench.register("https://all.example/")
        let observer = Observer()
        let registration = bench.hub.addDelegate(
            observer as any AuthEventsDelegate<EventUser> & Sendable, description: "test", selection: selection)
        for round in 0..<10 {
            let user = round % 3 + 1
            try await post(
                bench, login("in-\(round)", user: user, plan: user == 2 ? "free" : "pro"),
                state("s-\(round)", "\(round)"))
            if round % 2 == 0 { try await post(bench, logout("out-\(round)", user: user)) }
        }
        // The other webhook is told of everything, of this last.
        try await post(bench, #"{"type": "order.paid", "id": "end"}"#)
        try await eventually("the other webhook is told of the last one") {
            bench.callbacks.items.contains { $0.delegate.key == all?.key && $0.event.id == "end" }
        }
        await bench.stop()
        let called = bench.callbacks.items.filter {
            $0.delegate.key == webhook?.key && $0.event.type.hasPrefix("auth.")
        }
        #expect(observer.told.items.sorted() == called.map(\.event.id).sorted())
        if which < 4 { #expect(!observer.told.items.isEmpty) }
        withExtendedLifetime(registration) {}
    }

    @Test("of the app state receive the old and the new one, decoded")
    func appState() async throws {
        enum Stage: String, Sendable { case idle, running, done }
        final class Stages: StateDelegate, Sendable {
            let told = Recorder<String>()
            func stateDidChange(from old: Stage, to new: Stage, sender: any DelegateSender) {
                told.record("\(old.rawValue) → \(new.rawValue)")
            }
        }
        let bench = try HubBench()
        let stages = Stages()
        let observer = Observer()
        let decoded = bench.hub.addDelegate(stages, description: "decoded", initial: Stage.idle) {
            guard let document = try? JSONDocument(parsing: $0.json) else { return nil }
            return document.root.string.flatMap(Stage.init)
        }
        let raw = bench.hub.addDelegate(observer as any StateDelegate<EventState> & Sendable, description: "raw")
        try await post(bench, state("1", #""running""#), state("2", "17"), state("3", #""done""#))
        #expect(stages.told.items == ["idle → running", "idle → done"])
        #expect(observer.told.items == [#"null → "running""#, #""running" → 17"#, #"17 → "done""#])
        await bench.stop()
        withExtendedLifetime((decoded, raw)) {}
    }

    @Test("an AuthEvents keeps the user who is logged in when another one logs out")
    func session() async throws {
        let bench = try HubBench()
        let events = AuthEvents<EventUser>()
        let registration = bench.hub.addDelegate(events, description: "session")
        try await post(
            bench, login("in-1", user: 1, plan: "pro"), login("in-2", user: 2, plan: "pro"), logout("out-1", user: 1))
        #expect(events.currentUser?.id == "2")
        try await post(bench, logout("out-2", user: 2))
        #expect(events.currentUser == nil)
        await bench.stop()
        withExtendedLifetime(registration) {}
    }

    @Test("are added again while a call of their ended registration is in progress")
    func again() async throws {
        /// Holds the writer at each login.
        final class Slow: AuthEventsDelegate, Sendable {
            let reached = Recorder<String>()
            let semaphore: Semaphore
            init(_ semaphore: Semaphore) { self.semaphore = semaphore }
            func userIsLoggedIn(user: EventUser, sender: any DelegateSender) {
                reached.record(user.id)
                semaphore.wait()
            }
            func userIsLoggedOut(user: EventUser?, sender: any DelegateSender) {}
            func userAuthStatusChanged(user: EventUser?, isLoggedIn: Bool?, sender: any DelegateSender) {}
        }
        let bench = try HubBench()
        let slow = Slow(Semaphore())
        var registration = bench.hub.addDelegate(slow, description: "first")
        async let posted: Void = post(bench, login("in-1", user: 1, plan: "pro"))
        try await slow.reached.first(1)
        registration = nil
        registration = bench.hub.addDelegate(slow, description: "second")
        #expect(registration != nil)
        for _ in 1...2 { slow.semaphore.signal() }
        try await posted
        try await post(bench, login("in-2", user: 2, plan: "pro"))
        #expect(slow.reached.items == ["1", "2"])
        await bench.stop()
        withExtendedLifetime(registration) {}
    }

    @Test("are held weakly, called once, and only while the registration lives")
    func lifetime() async throws {
        let bench = try HubBench()
        let before = bench.hub.inMemoryDelegates.count
        var observer: Observer? = Observer()
        weak let observed = observer
        let told = try #require(observer).told
        var registration = bench.hub.addDelegate(
            try #require(observer) as any StateDelegate<EventState> & Sendable, description: "test")
        #expect(registration != nil)
        #expect(
            bench.hub.addDelegate(
                try #require(observer) as any StateDelegate<EventState> & Sendable, description: "again") == nil)
        // It has the other family too.
        #expect(
            bench.hub.addDelegate(
                try #require(observer) as any AuthEventsDelegate<EventUser> & Sendable, description: "auth")
                != nil)
        try await post(bench, state("1", "1"))
        #expect(told.items.count == 1)
        registration = nil
        try await post(bench, state("2", "2"))
        #expect(told.items.count == 1)
        #expect(bench.hub.inMemoryDelegates.count == before)

        registration = bench.hub.addDelegate(
            try #require(observer) as any StateDelegate<EventState> & Sendable, description: "test")
        observer = nil
        #expect(observed == nil)
        try await post(bench, state("3", "3"))
        #expect(told.items.count == 1)
        await bench.stop()
        withExtendedLifetime(registration) {}
    }

    @Test("are registered once, also by several threads at the same time")
    func race() async throws {
        let bench = try HubBench()
        let hub = bench.hub
        let before = hub.inMemoryDelegates.count
        for _ in 0..<500 {
            let observer = Observer()
            let made = await withTaskGroup(of: HubRegistration?.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        hub.addDelegate(observer as any StateDelegate<EventState> & Sendable, description: "test")
                    }
                }
                var made: [HubRegistration] = []
                for await registration in group { if let registration { made.append(registration) } }
                return made
            }
            #expect(made.count == 1 && hub.inMemoryDelegates.count == before + 1)
            withExtendedLifetime((observer, made)) {}
        }
        await bench.stop()
    }

    @Test("can be a whole tree of login observers")
    func tree() async throws {
        let bench = try HubBench()
        let events = AuthEvents<String>()
        let heard = Recorder<AuthEvent<String>>()
        let token = events.observe { heard.record($0) }
        let registration = bench.hub.addDelegate(events, description: "login observers") { $0.id }
        try await post(bench, login("in", user: 7, plan: "pro"))
        #expect(heard.items == [.loggedIn("7"), .statusChanged("7", isLoggedIn: true)])
        await bench.stop()
        withExtendedLifetime((token, registration)) {}
    }
}
