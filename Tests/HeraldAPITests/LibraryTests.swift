import Foundation
import Herald
import HeraldTestSupport
import HeraldWebhooks
import Testing

@Suite("What an app relies on", .timeLimit(.minutes(20)))
struct LibraryTests {
    private let folder = TemporaryFolder()

    private func makeHub(_ change: (inout Hub.Options) -> Void = { _ in }) async throws -> Hub {
        var options = Hub.Options()
        options.allowsLoopback = true
        change(&options)
        return try await Hub.open(folder: folder.path + "/data", options: options)
    }

    /// A hub with a thousand events, which are on disk only.
    private func makeFilledHub() async throws -> Hub {
        let first = try await makeHub()
        try await first.publish((1...1_000).map { try NewEvent("number.drawn", $0) })
        await first.stop(grace: .zero)
        return try await makeHub()
    }

    // MARK: Sequences with an end

    @Test("a sequence with an end throws if the hub stops before it, and ends when it is there")
    func stoppedBeforeTheEnd() async throws {
        let hub = try await makeFilledHub()
        let all = hub.events(after: .start, through: hub.lastPosition)
        var iterator = all.makeAsyncIterator()
        _ = try await iterator.next()
        await hub.stop(grace: .zero)
        var count = 1
        let error = await #expect(throws: HubError.self) {
            while try await iterator.next() != nil { count += 1 }
        }
        #expect(error?.problem == .stopping && count < 1_000)
        // Without an end it ends with the hub.
        for try await _ in hub.events(after: .start) {}
    }

    @Test("a sequence with an end throws if its task is cancelled before it")
    func cancelledBeforeTheEnd() async throws {
        let hub = try await makeFilledHub()
        let counting = Task {
            var count = 0
            for try await _ in hub.events(after: .start, through: hub.lastPosition) {
                count += 1
                withUnsafeCurrentTask { $0?.cancel() }
            }
            return count
        }
        let error = await #expect(throws: HubError.self) { _ = try await counting.value }
        #expect(error?.problem == .cancelled)
        let reading = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for try await _ in hub.events(after: .start, through: .start) {}
            for try await _ in hub.events(after: .start) { Issue.record("the task was cancelled") }
        }
        try await reading.value
        await hub.stop(grace: .zero)
    }

    /// Each call continues with a copy of the iterator.
    private actor Reader<Events: AsyncSequence<PositionedEvent, HubError> & Sendable> {
        private let iterator: Events.AsyncIterator

        init(_ events: Events) { iterator = events.makeAsyncIterator() }

        func next() async throws -> PositionedEvent? {
            var copy = iterator
            return try await copy.next(isolation: #isolation)
        }
    }

    @Test("copies of an iterator wait at the same time")
    func copies() async throws {
        let hub = try await makeHub()
        let reader = Reader(hub.events())
        async let first = reader.next()
        async let second = reader.next()
        async let third = reader.next()
        // They wait, or will find the event.
        for _ in 0..<100 { await Task.yield() }
        try await hub.publish("order.placed", 1)
        let types = try await [first, second, third].map { $0?.event.type }
        #expect(types == ["order.placed", "order.placed", "order.placed"])
        await hub.stop(grace: .zero)
    }

    @Test("a sequence of attempts that begins while the hub stops ends at once")
    func attemptsWhileStopping() async throws {
        let gate = ReceiverGate()
        let receiver = try Receiver { _ in .held(gate) }
        defer {
            gate.open()
            receiver.close()
        }
        let hub = try await makeHub()
        var settings = WebhookSettings(url: receiver.url())
        settings.timeout = .seconds(60)
        try await hub.webhooks.add(settings)
        try await hub.publish("order.placed", 1)
        _ = await receiver.requests(1)
        let ends = Recorder<String>()
        let stopping = Task {
            await hub.stop(grace: .seconds(600))
            ends.record("the hub")
        }
        try await eventually("it stops") { (try? hub.health()) == nil }
        var iterator = hub.webhooks.followAttempts().makeAsyncIterator()
        let found = try await iterator.next()
        #expect(found == nil)
        // It still waits for the callback.
        #expect(ends.items.isEmpty)
        gate.open()
        await stopping.value
    }

    // MARK: Publishing

    @Test("a cancelled task publishes nothing")
    func cancelled() async throws {
        let hub = try await makeHub()
        let publishing = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await hub.publish("order.placed", 1)
        }
        let error = await #expect(throws: HubError.self) { _ = try await publishing.value }
        #expect(error?.problem == .cancelled && hub.lastPosition == .start)
        await hub.stop(grace: .zero)
    }

    @Test("events that are published together have the limits of a request to the HTTP API")
    func limits() async throws {
        let hub = try await makeHub { $0.maxPublicationBytes = 100_000 }
        let text = String(repeating: "x", count: 60_000)
        try await hub.publish("order.placed", text)
        let large = await #expect(throws: HubError.self) { try await hub.publish("order.placed", text + text) }
        #expect(large?.problem == .bodyTooLarge)
        let together = await #expect(throws: HubError.self) {
            try await hub.publish([try NewEvent("order.placed", text), try NewEvent("order.placed", text)])
        }
        #expect(together?.problem == .bodyTooLarge)
        let many = await #expect(throws: HubError.self) {
            try await hub.publish((1...1_001).map { try NewEvent("order.placed", $0) })
        }
        #expect(many?.problem == .validation)
        #expect(hub.lastPosition.rawValue == 1)
        await hub.stop(grace: .zero)

        let refused = await #expect(throws: HubError.self) { _ = try await makeHub { $0.maxPublicationBytes = 1 } }
        #expect(refused?.fields.map(\.pointer) == ["/maxPublicationBytes"])
        let unusable = await #expect(throws: HubError.self) {
            _ = try await makeHub {
                $0.source = "shop\r\nx: y"
                $0.certificateAuthorities = "/no/such/file.pem"
            }
        }
        #expect(unusable?.fields.map(\.pointer) == ["/source", "/certificateAuthorities"])
    }

    @Test("a denied network is not called; once there is a master key, the folder opens with it alone")
    func closing() async throws {
        func key(_ byte: UInt8) -> String { Data(repeating: byte, count: 32).base64EncodedString() }
        let plain = try await makeHub { $0.deniedNetworks = ["127.0.0.2/32"] }
        let denied = await #expect(throws: HubError.self) { try await plain.webhooks.add("http://127.0.0.2:9/") }
        #expect(denied?.fields.map(\.pointer) == ["/url"])
        let webhook = try await plain.webhooks.add("http://127.0.0.1:9/")
        await plain.stop(grace: .zero)

        let sealed = try await makeHub { $0.masterKey = key(1) }
        #expect(try await sealed.webhooks.get(webhook.id).signature == .v1)
        await sealed.stop(grace: .zero)
        for other in [nil, key(2)] {
            let error = await #expect(throws: HubError.self) { _ = try await makeHub { $0.masterKey = other } }
            guard case .store(.sealed) = error else { throw Unexpected("\(String(describing: error))") }
        }
    }

    @Test("the values of events that are published together are counted together")
    func values() async throws {
        let hub = try await makeHub { $0.maxPublicationBytes = 16_777_216 }
        let event = try NewEvent("numbers.drawn", [Int](repeating: 1, count: 120_000))
        try await hub.publish(event)
        let error = await #expect(throws: HubError.self) { try await hub.publish([event, event]) }
        #expect(error?.fields.map(\.pointer) == ["/1/data"])
        await hub.stop(grace: .zero)
    }

    @Test("dates keep their milliseconds in both directions, and an app can bring its own encoder and decoder")
    func dates() async throws {
        struct Order: Codable, Equatable {
            var placedAt: Date
        }
        let hub = try await makeHub()
        let order = Order(placedAt: Date(timeIntervalSince1970: 1_614_265_330.999))
        let published = try await hub.publish("order.placed", order).event
        #expect(String(decoding: published.data, as: UTF8.self) == #"{"placedAt":"2021-02-25T15:02:10.999Z"}"#)
        let back: Order = try published.decode()
        #expect(abs(back.placedAt.timeIntervalSince(order.placedAt)) < 0.000_1)
        let whole = try await hub.publish(NewEvent("a.b", json: Array(#"["2021-02-25T16:02:10+01:00"]"#.utf8))).event
        #expect(try whole.decode([Date].self) == [Date(timeIntervalSince1970: 1_614_265_330)])
        #expect(throws: HubError.self) { try NewEvent("order.placed", [Date.distantPast.addingTimeInterval(-1e11)]) }

        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .secondsSince1970
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.dateDecodingStrategy = .secondsSince1970
        let own = Order(placedAt: Date(timeIntervalSince1970: 1.5))
        let event = try await hub.publish("order.placed", own, encoder: encoder).event
        #expect(String(decoding: event.data, as: UTF8.self) == #"{"placed_at":1.5}"#)
        #expect(try event.decode(decoder: decoder) == own)
        await hub.stop(grace: .zero)
    }

    @Test("the result for a known id says what differs from the first event")
    func differences() async throws {
        let hub = try await makeHub()
        var event = try NewEvent("order.placed", ["total": 1], subject: "order:1")
        event.id = "order-1"
        #expect(try await hub.publish(event).differences.isEmpty)
        // Another time of publication is no difference, since the app did not choose it.
        let again = try await hub.publish(event)
        #expect(again.disposition == .existed && again.differences.isEmpty)
        event.data = Array(#"{"total":2}"#.utf8)
        event.subject = "order:2"
        event.time = Date(timeIntervalSince1970: 1)
        let other = try await hub.publish(event)
        #expect(other.disposition == .existed && other.differences == ["/subject", "/time", "/data"])
        await hub.stop(grace: .zero)
    }

    @Test("an event continues the trace that it is given, and ignores one that is not valid")
    func trace() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let hub = try await makeHub()
        try await hub.webhooks.add(receiver.url())
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let event = try await hub.publish("order.placed", 1, traceparent: parent).event
        #expect(event.attribute("traceparent") == parent)
        let header = try #require(await receiver.requests(1).first?.header("traceparent"))
        #expect(header.hasPrefix("00-0af7651916cd43dd8448eb211c80319c-"))
        var other = try NewEvent("order.placed", 2)
        other.traceparent = "not a trace"
        other.tracestate = "vendor=1"
        let plain = try await hub.publish(other).event
        #expect(plain.attribute("traceparent") == nil && plain.attribute("tracestate") == nil)
        await hub.stop(grace: .seconds(5))
    }

    // MARK: Running and stopping

    @Test("a hub that has stopped is not healthy")
    func health() async throws {
        let hub = try await makeHub()
        try hub.health()
        await hub.stop(grace: .zero)
        let error = #expect(throws: HubError.self) { try hub.health() }
        #expect(error?.problem == .stopping)
    }

    @Test("each call of stop returns when the folder is free")
    func stops() async throws {
        for _ in 1...3 {
            let hub = try await makeHub()
            await withTaskGroup(of: Void.self) { group in
                for _ in 1...3 { group.addTask { await hub.stop(grace: .zero) } }
                // After the first of them that returns.
                await group.next()
                await #expect(throws: Never.self) { await (try makeHub()).stop(grace: .zero) }
            }
        }
    }

    @Test("withHub stops the hub, whatever its body does")
    func scope() async throws {
        struct Failure: Error {}
        let data = folder.path + "/data"
        let position = try await withHub(folder: data) { hub in
            try await hub.publish("shop.opened", 1)
            return hub.lastPosition
        }
        #expect(position.rawValue == 1)
        await #expect(throws: Failure.self) { try await withHub(folder: data) { _ in throw Failure() } }
        let cancelled = Task {
            try await withHub(folder: data) { hub in
                withUnsafeCurrentTask { $0?.cancel() }
                for try await _ in hub.events() { Issue.record("the task was cancelled") }
            }
        }
        try await cancelled.value
        let hub = try await makeHub()
        #expect(hub.lastPosition == position)
        await hub.stop(grace: .zero)
    }

    @Test("a hub runs until its task is cancelled or it is stopped, and its folder is free then")
    func run() async throws {
        let first = try await makeHub()
        let running = Task { await first.run(grace: .zero) }
        running.cancel()
        await running.value
        let second = try await makeHub()
        async let ended: Void = second.run()
        await second.stop(grace: .zero)
        await ended
        let third = try await makeHub()
        await third.stop(grace: .zero)
        await third.run()
    }

    // MARK: Reading

    @Test("returns the login status of users and the state of the app, also after a restart")
    func currentState() async throws {
        struct User: Codable, Equatable {
            let id: Int
            let name: String
        }
        let ada = User(id: 42, name: "Ada")
        let first = try await makeHub()
        #expect(try await first.loginStatus(ofUser: "42") == nil)
        #expect(try await first.currentAppState() == nil)
        let login = try await first.publish(.loggedIn(ada)).event
        try await first.publish(.appState("loading"))
        let state = try await first.publish(.appState(["data_retrieval": "success"])).event
        await first.stop(grace: .zero)

        let hub = try await makeHub()
        let status = try #require(try await hub.loginStatus(ofUser: "42"))
        #expect(status.isLoggedIn && status.eventID == login.id && status.date == login.date)
        #expect(try status.decode() == ada)
        let current = try #require(try await hub.currentAppState())
        #expect(try current.state.decode() == ["data_retrieval": "success"])
        #expect(current.eventID == state.id && current.date == state.date)
        try await hub.publish(.loggedOut(userID: "42"))
        let later = try #require(try await hub.loginStatus(ofUser: "42"))
        #expect(!later.isLoggedIn)
        #expect(try later.decode() == ada)
        await hub.stop(grace: .zero)
    }

    @Test("the log of a hub says that deliveries wait for descriptors, which are in no list of attempts")
    func lack() throws {
        let entries = Recorder<LogEntry>()
        var options = Hub.Options()
        options.onLog = { entries.record($0) }
        let sending = try options.sending()
        sending.reportLack("Too many open files")
        #expect(entries.items.map(\.level) == [.error])
        #expect(entries.items.first?.fields == [KeyValue("reason", "Too many open files")])
    }

    @Test("an app gets the log of the hub and its metrics")
    func observation() async throws {
        let receiver = try Receiver { $0.path == "/bad" ? .status(500) : .status(200) }
        defer { receiver.close() }
        let entries = Recorder<LogEntry>()
        let hub = try await makeHub { $0.onLog = { entries.record($0) } }
        try await hub.webhooks.add(receiver.url("/good"))
        var settings = WebhookSettings(url: receiver.url("/bad"))
        settings.retryDelays = []
        let bad = try await hub.webhooks.add(settings)
        try await hub.publish("order.placed", 1)
        try await eventually("one is delivered, one is given up") {
            let metrics = hub.metrics()
            return metrics.deliveries == 1 && metrics.failedAttempts == 1 && metrics.exhausted == 1
        }
        try await eventually("it is in the log") { entries.items.contains { $0.message == "delivery exhausted" } }
        let lost = try #require(entries.items.last { $0.message == "delivery exhausted" })
        #expect(lost.level == .warning && lost.fields.contains(KeyValue("delegate", bad.id)))
        #expect(entries.items.filter { $0.message == "delegate registered" && $0.level == .info }.count == 2)
        #expect(lost.description.hasPrefix(#"warning: delivery exhausted delegate="dlg_"#))
        // Herald adds an event when it gives up a delivery.
        #expect(hub.metrics().events >= 2)
        try await eventually("no event waits") { hub.metrics().waitingEvents == 0 }
        await hub.stop(grace: .zero)
    }
}
