import HeraldJSON
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldCore
@testable import HeraldDelivery
@testable import HeraldModel

/// Input of a program that embeds the hub must follow the rules of the HTTP API.
@Suite("Input of the hub", .timeLimit(.minutes(20)))
struct BorderTests {
    private func wrong(_ result: WriteResult<RegistryWrite.Outcome>) -> [String]? {
        guard case .done(.invalid(let errors)) = result else { return nil }
        #expect(errors.allSatisfy { !$0.detail.isEmpty })
        return errors.map(\.pointer)
    }

    @Test("settings of a webhook beyond a limit are refused, by name")
    func settings() async throws {
        let bench = try HubBench()
        let cases: [(String, @Sendable (inout WebhookSettings) -> Void)] = [
            ("/url", { $0.url = "" }), ("/events", { $0.events = [] }),
            ("/events/0", { $0.events = [.exact("not a type")] }), ("/subjects/1", { $0.subjects = ["a", "b*c"] }),
            ("/description", { $0.description = String(repeating: "x", count: 257) }),
            ("/max_in_flight", { $0.maxInFlight = 0 }), ("/rate_limit", { $0.rateLimit = 0 }),
            ("/rate_limit", { $0.rateLimit = .nan }), ("/timeout_seconds", { $0.timeoutSeconds = -1 }),
            ("/retry_schedule/0", { $0.retrySchedule = [-1] }), ("/lease_seconds", { $0.leaseSeconds = 9 }),
            ("/disable_after_seconds", { $0.disableAfterSeconds = 59 }),
            ("/retry_schedule", { $0.retrySchedule = Array(repeating: 1, count: 21) }),
            ("/headers/Host", { $0.headers = [KeyValue("Host", "x")] }),
            ("/headers/Date", { $0.headers = [KeyValue("Date", "x")] }),
            ("/headers/X", { $0.headers = [KeyValue("X", "a\r\nb: c")] }),
            ("/metadata/", { $0.metadata = [KeyValue("", "x")] }),
        ]
        for (pointer, change) in cases {
            let settings = WebhookSettings.made("https://receiver.example/", change)
            let result = await bench.change(.register(.init(settings: settings, secret: .test)))
            #expect(wrong(result) == [pointer])
        }
        for secret in [SigningSecret(bytes: []), SigningSecret(.v1a, bytes: Array(0..<24))] {
            let result = await bench.change(.register(.init(settings: .made(), secret: secret)))
            #expect(wrong(result) == ["/secret"])
        }
        // A text of any length is no key of the default signature: the error says what is.
        for text in ["mysecret", "mysecretmysecretmysecret"] {
            let secret = SigningSecret(.text, bytes: Array(text.utf8))
            let result = await bench.change(.register(.init(settings: .made(), secret: secret)))
            guard case .done(.invalid(let errors)) = result else {
                Issue.record("\(result)")
                continue
            }
            #expect(errors.first?.detail.contains("whsec_") == true)
        }
        let delegate = try #require(await bench.register())
        let changed = await bench.change(
            .update(id: delegate.id, ifVersion: nil) { state, _ throws(FieldErrors) in
                state.settings.rateLimit = 0
                state.secrets = []
            })
        #expect(wrong(changed) == ["/rate_limit", "/secret"])
        #expect(bench.hub.committed.registry.count == 1)
        await bench.stop()
    }

    @Test("an invalid event is refused, and its whole publication with it")
    func events() async throws {
        let bench = try HubBench()
        func refused(_ event: Event) async -> [String] {
            let right = EventDraft(event: Event("a.b", id: "right"), mayExist: false)
            do {
                _ = try await bench.hub.publish([right, EventDraft(event: event, mayExist: false)])
                return []
            } catch HubError.invalid(let errors) {
                return errors.map(\.pointer)
            } catch {
                return ["\(error)"]
            }
        }
        func event(_ attributes: KeyValue...) -> Event {
            Event("a.b", id: "e", attributes: attributes, data: "1")
        }
        #expect(await refused(Event("not a type", id: "e")) == ["/1/type"])
        #expect(await refused(Event("herald.delegate.disabled", id: "e")) == ["/1/type"])
        #expect(await refused(Event("a.b", id: "")) == ["/1/id"])
        #expect(await refused(Event("a.b", id: "a\r\nb")) == ["/1/id"])
        #expect(await refused(Event("a.b", id: "1~2")) == ["/1/id"])
        #expect(await refused(Event("a.b", id: "e", subject: "")) == ["/1/subject"])
        for data in ["", "{", #"{"a":1},"type":"forged""#, "1 2", "nul"] {
            #expect(await refused(Event("a.b", id: "e", data: data)) == ["/1/data"], "\(data)")
        }
        for time in [Timestamp.earliest.milliseconds - 1, Timestamp.latest.milliseconds + 1] {
            #expect(await refused(Event("a.b", id: "e", time: time)) == ["/1/time"])
        }
        #expect(await refused(Event("auth.logged_in", id: "e")) == ["/1/data/user"])
        #expect(await refused(Event("a.b", id: "e", app: AppKey(rawValue: 7))) == ["/1"])
        #expect(await refused(event(KeyValue("herald.erased", "true"))) == ["/1/herald.erased"])
        #expect(await refused(event(KeyValue("count.json", #"1,"id":"x""#))) == ["/1/count"])
        #expect(await refused(event(KeyValue("tenant", "a\nb"))) == ["/1/tenant"])
        #expect(bench.hub.head == 0)
        let right = event(KeyValue("tenant", "a"), KeyValue("count.json", "5"))
        #expect(try await bench.hub.publish([EventDraft(event: right, mayExist: false)])[0].disposition == .accepted)
        // A wrong claim that an id is new must not fail other publications of the same transaction.
        let again = try await bench.hub.publish([EventDraft(event: right, mayExist: false)])
        #expect(again[0].disposition == .existed)
        await bench.stop()
    }

    @Test("a login published in the process counts like one published by a client")
    func families() async throws {
        let bench = try HubBench()
        let login = Event("auth.logged_in", id: "e", data: #"{"user": {"id": 42}}"#)
        let posted = try await bench.hub.publish([EventDraft(event: login, mayExist: false)])
        #expect(posted[0].event.subject == "user:42")
        #expect(bench.hub.committed.auth.status(.default, userID: "42")?.isLoggedIn == true)
        await bench.stop()
    }

    @Test("stored values beyond a limit do not prevent the start")
    func stored() async throws {
        let store = RefusingStore()
        let delegate = WebhookDelegate(1) {
            $0.rateLimit = 0
            $0.maxInFlight = 0
            $0.timeoutSeconds = -5
            $0.retrySchedule = [-1, .infinity, .nan]
            $0.leaseSeconds = -1
        }
        try store.transaction { transaction throws(StoreError) in
            try transaction.setDelegate(delegate)
            try transaction.append([Event("a.b", id: "e")])
        }
        let bench = try HubBench(store: store)
        #expect(try await bench.callbacks.first(1).map(\.event.id) == ["e"])
        let settings = try #require(bench.hub.committed.registry.delegate(key: 1)).settings
        #expect(settings.rateLimit == 0.01 && settings.maxInFlight == 1 && settings.timeoutSeconds == 1)
        #expect(settings.retrySchedule == [0, 604_800, 0] && settings.leaseSeconds == 10)
        await bench.stop()
    }

    @Test("keys, apps and event types are validated, too")
    func others() async throws {
        let bench = try HubBench()
        let key = APIKey(
            id: "key_1", name: "", scopes: [], digest: [], createdAt: 0, requestsPerSecond: 0)
        let keyResult = await bench.hub.result(of: AccessWrite.self) {
            AccessWrite(action: .addKey(key), completion: $0)
        }
        guard case .refused(.invalid(let errors)) = keyResult else { throw Unexpected("\(keyResult)") }
        #expect(errors.map(\.pointer) == ["/scopes", "/requests_per_second", ""])
        let settings = App.Settings(name: ".no", eventsPerSecond: 0)
        let appResult = await bench.hub.result(of: AppWrite.self) {
            AppWrite(action: .add(id: "app_1", settings), completion: $0)
        }
        guard case .done(.invalid(let wrong)) = appResult else { throw Unexpected("\(appResult)") }
        #expect(wrong.map(\.pointer) == ["/name", "/events_per_second"])
        var description = EventTypeWrite.Description()
        description.example = Array("{".utf8)
        let typeResult = await bench.hub.result(of: EventTypeWrite.self) { [description] in
            EventTypeWrite(type: "a b", action: .set(description), completion: $0)
        }
        guard case .refused(.invalid(let problems)) = typeResult else { throw Unexpected("\(typeResult)") }
        #expect(problems.map(\.pointer) == ["/type", "/example"])
        #expect(RateMeter().refusal(limit: 0, now: 0) == nil)
        await bench.stop()
    }

    @Test("draining on the writer's thread is an error; there is another way")
    func draining() async throws {
        let bench = try HubBench()
        let hub = bench.hub
        let heard = Recorder<String>()
        hub.publish(
            Publication(drafts: [EventDraft(event: Event("a.b", id: "e"), mayExist: false)]) { [weak hub] _ in
                do {
                    try hub?.drain()
                    heard.record("drained")
                } catch {
                    heard.record("\(error)")
                }
                hub?.afterDraining { heard.record("after") }
            })
        let said = try await heard.first(2)
        #expect(said.first?.contains("can't wait for itself") == true)
        #expect(said.last == "after")
        await offPool { #expect(throws: Never.self) { try hub.drain() } }
        await bench.stop()
    }

    @Test("a hub that is stopped in a completion stops after it")
    func stoppingInside() async throws {
        let bench = try HubBench()
        let hub = bench.hub
        let heard = Recorder<Bool>()
        hub.publish(
            Publication(drafts: [EventDraft(event: Event("a.b", id: "e"), mayExist: false)]) { _ in
                hub.stop(grace: 0)
                heard.record(true)
            })
        #expect(try await heard.first(1) == [true])
        await bench.stop()
    }
}
