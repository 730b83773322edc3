import Foundation
import Herald
import HeraldAPI
import HeraldHTTP
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("The webhooks of a hub in a process", .timeLimit(.minutes(20)))
struct WebhooksTests {
    private let folder = TemporaryFolder()

    private func makeHub() async throws -> Hub {
        var options = Hub.Options()
        options.allowsLoopback = true
        return try await Hub.open(folder: folder.path + "/data", options: options)
    }

    // MARK: Registering and changing

    @Test("are registered, read, changed and removed")
    func settings() async throws {
        let hub = try await makeHub()
        let first = try await hub.webhooks.add("http://127.0.0.1:9/first", events: ["order.*", "user.left"])
        #expect(first.settings.events.map(\.text) == ["order.*", "user.left"])
        #expect(first.secret?.text.hasPrefix("whsec_") == true && first.publicKey == nil)
        #expect(try await hub.webhooks.add("http://127.0.0.1:9/first", events: ["order.*", "user.left"]).secret == nil)

        var settings = WebhookSettings(url: "http://127.0.0.1:9/second")
        settings.lease = .seconds(60)
        settings.verification = .challenge
        let second = try await hub.webhooks.add(settings, signature: .v1a)
        #expect(second.publicKey?.hasPrefix("whpk_") == true)
        #expect(second.status == .pendingVerification && second.statusReason != nil)
        let end = try #require(second.leaseEndDate)
        #expect(abs(end.timeIntervalSince(second.registrationDate) - 60) < 0.01)
        #expect(try await hub.webhooks.renew(second.id).leaseEndDate.map { $0 >= end } == true)

        let page = try await hub.webhooks.list(limit: 1)
        #expect(page.elements.map(\.id) == [second.id])
        let rest = try await hub.webhooks.list(after: page.next)
        #expect(rest.elements.map(\.id) == [first.id] && rest.next == nil)
        #expect(try await hub.webhooks.list(status: .active).elements.map(\.id) == [first.id])
        #expect(try await hub.webhooks.list(event: "shop.opened").elements.map(\.id) == [second.id])

        let changed = try await hub.webhooks.update(first.id, ifVersion: first.version) { $0.timeout = .seconds(3) }
        #expect(changed.settings.timeout == .seconds(3) && changed.version > first.version && changed.secret == nil)
        #expect(try await hub.webhooks.pause(first.id).status == .paused)
        #expect(try await hub.webhooks.get(first.id).status == .paused)
        #expect(try await hub.webhooks.resume(first.id).status == .active)

        let rotated = try await hub.webhooks.rotateSecret(of: first.id, overlap: .seconds(60))
        #expect(rotated.secret != nil && rotated.secret != first.secret)
        #expect(try #require(rotated.previousSecretEndDate).timeIntervalSince(rotated.changeDate).rounded() == 60)

        try await hub.webhooks.remove(first.id)
        #expect(try await hub.webhooks.removeAll() == 1)
        #expect(try await hub.webhooks.list().elements.isEmpty)
        await hub.stop(grace: .zero)
    }

    @Test("are set: created, changed or left as they are, by URL or id, with the same result each time")
    func set() async throws {
        let hub = try await makeHub()
        let url = "http://127.0.0.1:9/set"
        let orders = WebhookSettings(url: url, events: [.prefix("order.")])
        let first = try await hub.webhooks.set(orders)
        #expect(first.secret != nil)
        let same = try await hub.webhooks.set(orders)
        #expect(same.id == first.id && same.version == first.version && same.secret == nil)
        var settings = WebhookSettings(url: url, events: [.prefix("user.")])
        settings.timeout = .seconds(3)
        try await hub.webhooks.pause(first.id)
        for _ in 1...2 {
            let changed = try await hub.webhooks.set(settings)
            #expect(changed.id == first.id && changed.settings == settings && changed.status == .paused)
            #expect(changed.version == first.version + 2 && changed.previousSecretEndDate == nil)
        }
        let key = try SigningSecret.random()
        let rotated = try await hub.webhooks.set(settings, secret: key)
        let end = try #require(rotated.previousSecretEndDate)
        #expect(try await hub.webhooks.set(settings, secret: key).previousSecretEndDate == end)

        settings.url = "http://127.0.0.1:9/moved"
        let moved = try await hub.webhooks.set(settings, id: first.id)
        #expect(moved.id == first.id && moved.settings.url == settings.url)
        let other = try await hub.webhooks.set(WebhookSettings(url: url))
        #expect(other.id != first.id)
        let taken = await #expect(throws: HubError.self) { try await hub.webhooks.set(settings, id: other.id) }
        #expect(taken?.problem == .conflict)
        let unknown = await #expect(throws: HubError.self) { try await hub.webhooks.set(settings, id: "dlg_0") }
        #expect(unknown?.problem == .notFound)
        let wrong = WebhookSettings(url: url, events: [.exact("no type")])
        let invalid = await #expect(throws: HubError.self) { try await hub.webhooks.set(wrong) }
        #expect(invalid?.fields.map(\.pointer) == ["/events/0"])
        #expect(try await hub.webhooks.list().elements.map(\.id) == [other.id, first.id])

        // The key that its request needs, as over HTTP.
        var own = WebhookSettings(url: "http://127.0.0.1:9/own")
        own.request = try Recipe(json: #"{"sign": ["standard_ed25519"], "path": "/{{ id }}"}"#)
        let signed = try await hub.webhooks.set(own)
        #expect(signed.signature == .v1a && signed.publicKey != nil)
        #expect(try await hub.webhooks.add(own).id == signed.id)
        let event = try await hub.publish("order.placed", 1).event
        let request = try await hub.webhooks.preview(event.id, to: signed.id)
        #expect(request.url == "http://127.0.0.1:9/own/\(event.id)" && request.method == "POST")
        await hub.stop(grace: .zero)
    }

    // MARK: Deliveries

    @Test("show their deliveries, which can be repeated, cancelled and replayed")
    func deliveries() async throws {
        let receiver = try Receiver { $0.path == "/bad" ? .status(500) : .status(200, body: "thanks") }
        defer { receiver.close() }
        let hub = try await makeHub()
        let good = try await hub.webhooks.add(receiver.url("/good"), events: ["order.*"])
        var settings = WebhookSettings(url: receiver.url("/bad"))
        settings.retryDelays = [.seconds(3_600)]
        let bad = try await hub.webhooks.add(settings)

        let probe = try await hub.webhooks.test(good.id)
        #expect(probe.isSuccess && probe.statusCode == 200 && probe.responseExcerpt == "thanks" && probe.id == nil)
        #expect(try await hub.webhooks.test(bad.id).detail == "only a status from 200 to 299 is a success")

        let event = try await hub.publish("order.placed", 1).event
        let stories = try await until("both were called") {
            let stories = try await hub.webhooks.stories(ofEvent: event.id)
            return stories.map(\.state) == [.delivered, .retrying] ? stories : nil
        }
        #expect(stories.map(\.webhookID) == [good.id, bad.id])
        #expect(stories[0].attempts.map(\.number) == [1] && stories[1].nextAttemptDate != nil)

        let attempts = try await hub.webhooks.attempts(of: bad.id, succeeded: false)
        #expect(attempts.elements.map(\.eventID) == [event.id] && attempts.elements[0].statusCode == 500)
        #expect(try await hub.webhooks.attempts(of: bad.id, succeeded: true).elements.isEmpty)
        let errors = try await hub.webhooks.attempts(
            of: bad.id, errors: [.status(500...599)], since: attempts.elements[0].date)
        #expect(errors.elements.map(\.eventID) == [event.id])
        #expect(try await hub.webhooks.attempts(of: bad.id, errors: [.failure(.timeout)]).elements.isEmpty)
        let waiting = try await hub.webhooks.deliveries(in: .retrying, to: bad.id, limit: 1).elements
        #expect(waiting.map(\.eventID) == [event.id] && waiting[0].attempts == 1)
        #expect(try await hub.webhooks.deliveries(in: .pending, event: event.id).elements.isEmpty)

        #expect(try await hub.webhooks.cancelAll(to: bad.id, isDryRun: true).deliveries == 1)
        #expect(try await hub.webhooks.cancelAll(to: bad.id).deliveries == 1)
        #expect(try await hub.webhooks.deliveries(in: .dropped).elements.map(\.webhookID) == [bad.id])
        let counts = try await hub.webhooks.countDeliveries(in: .dropped)
        #expect(counts.elements.map(\.webhookID) == [bad.id] && counts.elements.map(\.deliveries) == [1])
        #expect(counts.deliveries == 1 && counts.webhooks == 1 && counts.next == nil)
        #expect(try await hub.webhooks.countDeliveries(in: .exhausted).elements.isEmpty)
        let error = try #require(DeliveryError("5xx"))
        let failures = Webhook.DeliveryFilter(types: [.prefix("order.")], errors: [error])
        #expect(try await hub.webhooks.countDeliveries(in: .dropped, matching: failures).deliveries == 1)
        #expect(try await hub.webhooks.deliveries(in: .dropped, matching: failures).elements.count == 1)
        let others = Webhook.DeliveryFilter(subject: "order:7")
        #expect(try await hub.webhooks.deliveries(in: .dropped, matching: others).elements.isEmpty)
        #expect(try await hub.webhooks.redeliverAll(matching: others).deliveries == 0)
        #expect(try await hub.webhooks.deliveries(in: .delivered).elements.map(\.webhookID) == [good.id])
        let past = Date(timeIntervalSince1970: 0)
        #expect(try await hub.webhooks.deliveries(in: .dropped, since: past).elements.count == 1)
        #expect(try await hub.webhooks.deliveries(in: .dropped, until: past).elements.isEmpty)
        await #expect(throws: HubError.self) {
            try await hub.webhooks.deliveries(since: past.addingTimeInterval(1), until: past)
        }
        #expect(try await hub.webhooks.redeliverAll(in: .dropped, isDryRun: true).deliveries == 1)
        let failed = try await hub.webhooks.replay(bad.id, from: .earliest, onlyFailed: true, isDryRun: true)
        #expect(failed.events == 1 && failed.id == nil)
        #expect(try await hub.webhooks.redeliverAll(in: .dropped).deliveries == 1)
        #expect(try await hub.webhooks.redeliver(event: event.id, to: good.id) == 1)
        #expect(await receiver.requests(6).map(\.path).filter { $0 == "/good" }.count >= 2)

        try await until("the redelivery is settled") {
            try await hub.webhooks.deliveries(to: good.id).elements.isEmpty ? true : nil
        }
        // A replay that can't proceed, and so is still there.
        try await hub.webhooks.pause(good.id)
        let started = try await hub.webhooks.replay(good.id, from: .event(event.id), until: .time(.distantFuture))
        let replay = try #require(started.id)
        #expect(started.events == 1)
        let replays = try await hub.webhooks.replays(of: good.id)
        #expect(replays.map(\.id) == [replay])
        #expect(try await hub.webhooks.statistics(of: good.id).replays.map(\.id) == [replay])
        try await hub.webhooks.endReplay(replay, of: good.id)
        #expect(try await hub.webhooks.replays(of: good.id).isEmpty)
        #expect(try await hub.webhooks.statistics(of: good.id).lastHour.delivered >= 2)

        try await hub.webhooks.pause(bad.id)
        let held = try await hub.publish("order.placed", 2).event
        let pending = try await until("it waits for both") {
            let found = try await hub.webhooks.deliveries(in: .pending).elements
            return found.map(\.webhookID) == [good.id, bad.id] ? found : nil
        }
        #expect(pending.map(\.eventID) == [held.id, held.id])
        let first = try await hub.webhooks.deliveries(in: .pending, limit: 1)
        #expect(first.elements.map(\.webhookID) == [good.id])
        let second = try await hub.webhooks.deliveries(in: .pending, limit: 1, after: first.next)
        #expect(second.elements.map(\.webhookID) == [bad.id])
        await #expect(throws: HubError.self, "the cursor of another state") {
            try await hub.webhooks.deliveries(in: .dropped, after: first.next)
        }
        await hub.stop(grace: .seconds(1))
    }

    @Test("a new one can start with events that are in the log")
    func start() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        let hub = try await makeHub()
        try await hub.publish((1...3).map { try NewEvent("order.placed", $0) })
        let webhook = try await hub.webhooks.add(
            WebhookSettings(url: receiver.url()), start: .after(EventPosition(rawValue: 1)))
        #expect(webhook.lag.events == 2 && webhook.lag.isEstimate)
        #expect(await receiver.requests(2).map { $0.text.contains(#""data":2"#) } == [true, false])
        await hub.stop(grace: .seconds(5))
    }

    @Test("are followed attempt by attempt, also after a restart, until the hub stops")
    func attempts() async throws {
        let receiver = try Receiver()
        defer { receiver.close() }
        var ids: [String?] = []
        var published: [String] = []
        var last: Int64 = 0
        for run in 1...2 {
            let hub = try await makeHub()
            let webhook = try await hub.webhooks.add(receiver.url())
            let sequence = hub.webhooks.followAttempts(after: last)
            published += try await hub.publish((1...3).map { try NewEvent("order.placed", $0) }).map(\.event.id)
            var iterator = sequence.makeAsyncIterator()
            while ids.count < 3 * run {
                let attempt = try #require(try await iterator.next())
                #expect(attempt.webhookID == webhook.id && attempt.isSuccess)
                ids.append(attempt.eventID)
                last = try #require(attempt.id)
            }
            await hub.stop(grace: .zero)
            if try await iterator.next() != nil { Issue.record("an attempt after the end") }
        }
        #expect(Set(ids) == Set(published))
    }

    /// Repeats until there is a value: what deliveries leave in the store arrives there with a checkpoint.
    @discardableResult
    private func until<Value>(_ what: String, _ look: () async throws -> Value?) async throws -> Value {
        let deadline = ContinuousClock.now + .seconds(patience)
        while ContinuousClock.now < deadline {
            if let value = try await look() { return value }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("not in time: \(what)")
        throw CancellationError()
    }

    // MARK: Errors

    /// A request over HTTP, and the same in the process.
    private struct Pair {
        let method: String
        let path: String
        var body = ""
        let problem: ProblemName
        let call: @Sendable (Hub, Ids) async throws -> Void
    }

    private struct Ids: Sendable {
        let plain: String
        let pending: String
    }

    private static let pairs = [
        Pair(method: "POST", path: "/v1/delegates", body: #"{"url": "ftp://a"}"#, problem: .validation) { hub, _ in
            try await hub.webhooks.add("ftp://a")
        },
        Pair(
            method: "POST", path: "/v1/delegates", body: #"{"url": "http://127.0.0.1:9/", "events": ["a b"]}"#,
            problem: .validation
        ) { hub, _ in try await hub.webhooks.add("http://127.0.0.1:9/", events: ["a b"]) },
        Pair(
            method: "POST", path: "/v1/delegates", body: #"{"url": "http://127.0.0.1:9/plain", "events": ["x.y"]}"#,
            problem: .conflict
        ) { hub, _ in try await hub.webhooks.add("http://127.0.0.1:9/plain", events: ["x.y"]) },
        Pair(method: "GET", path: "/v1/delegates/dlg_0", problem: .notFound) { hub, _ in
            _ = try await hub.webhooks.get("dlg_0")
        },
        Pair(method: "DELETE", path: "/v1/delegates/dlg_0", problem: .notFound) { hub, _ in
            try await hub.webhooks.remove("dlg_0")
        },
        Pair(method: "POST", path: "/v1/delegates/dlg_0/pause", problem: .notFound) { hub, _ in
            try await hub.webhooks.pause("dlg_0")
        },
        Pair(
            method: "PATCH", path: "/v1/delegates/PLAIN", body: #"{"timeout_seconds": 61}"#, problem: .validation
        ) { hub, ids in try await hub.webhooks.update(ids.plain) { $0.timeout = .seconds(61) } },
        Pair(method: "POST", path: "/v1/delegates/PLAIN/renew", problem: .noLease) { hub, ids in
            try await hub.webhooks.renew(ids.plain)
        },
        Pair(method: "POST", path: "/v1/delegates/PENDING/test", problem: .unverified) { hub, ids in
            _ = try await hub.webhooks.test(ids.pending)
        },
        Pair(
            method: "POST", path: "/v1/delegates/PLAIN/secret/rotate", body: #"{"overlap_seconds": 604801}"#,
            problem: .validation
        ) { hub, ids in try await hub.webhooks.rotateSecret(of: ids.plain, overlap: .seconds(604_801)) },
        Pair(
            method: "POST", path: "/v1/delegates/PLAIN/replay", body: #"{"from": "no-such-event"}"#,
            problem: .validation
        ) { hub, ids in try await hub.webhooks.replay(ids.plain, from: .event("no-such-event")) },
        Pair(method: "GET", path: "/v1/delegates/PLAIN/attempts?event=none", problem: .notFound) { hub, ids in
            _ = try await hub.webhooks.attempts(of: ids.plain, event: "none")
        },
        Pair(method: "GET", path: "/v1/delegates/PLAIN/attempts?outcome=succeeded&error=5xx", problem: .validation) {
            hub, ids in
            _ = try await hub.webhooks.attempts(of: ids.plain, succeeded: true, errors: [.status(500...599)])
        },
        Pair(method: "GET", path: "/v1/delegates?limit=0", problem: .validation) { hub, _ in
            _ = try await hub.webhooks.list(limit: 0)
        },
        Pair(method: "GET", path: "/v1/deliveries?state=pending&event=none", problem: .notFound) { hub, _ in
            _ = try await hub.webhooks.deliveries(in: .pending, event: "none")
        },
        Pair(method: "POST", path: "/v1/deliveries/cancel", problem: .validation) { hub, _ in
            try await hub.webhooks.cancelAll()
        },
        Pair(method: "POST", path: "/v1/events/none/redeliver", problem: .notFound) { hub, _ in
            try await hub.webhooks.redeliver(event: "none")
        },
        Pair(method: "GET", path: "/v1/events/none", problem: .notFound) { hub, _ in
            _ = try await hub.webhooks.stories(ofEvent: "none")
        },
        Pair(method: "POST", path: "/v1/events", body: #"{"type": "no type"}"#, problem: .validation) { hub, _ in
            try await hub.publish(NewEvent("no type"))
        },
        Pair(
            method: "POST", path: "/v1/events", body: #"{"type": "auth.logged_in", "data": {"user": {"name": "Ada"}}}"#,
            problem: .validation
        ) { hub, _ in try await hub.publish(.loggedIn(["name": "Ada"])) },
        Pair(method: "POST", path: "/v1/events", body: #"{"type": "a.b", "data": "\#(large)"}"#, problem: .bodyTooLarge)
        {
            hub, _ in try await hub.publish("a.b", large)
        },
        Pair(
            method: "POST", path: "/v1/events",
            body: "[" + many.map { _ in #"{"type":"a.b"}"# }.joined(separator: ",") + "]",
            problem: .validation
        ) { hub, _ in try await hub.publish(many.map { _ in NewEvent("a.b") }) },
    ]

    private static let large = String(repeating: "x", count: 300_000)
    private static let many = 1...1_001

    @Test("have the problems of the HTTP API, with the same fields")
    func problems() async throws {
        let hub = try await makeHub()
        let server = try HTTPServer(
            HTTPServerConfiguration(maxBodyBytes: PublicationLimits.defaultBytes), handler: HeraldService(hub: hub))
        defer { server.stop() }
        let plain = try await hub.webhooks.add("http://127.0.0.1:9/plain")
        var settings = WebhookSettings(url: "http://127.0.0.1:9/pending")
        settings.verification = .challenge
        let ids = Ids(plain: plain.id, pending: try await hub.webhooks.add(settings).id)

        for pair in Self.pairs {
            let path = pair.path.replacing("PLAIN", with: ids.plain).replacing("PENDING", with: ids.pending)
            let json = pair.body.isEmpty ? "" : "Content-Type: application/json\r\n"
            let request =
                "\(pair.method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(json)Content-Length: \(pair.body.utf8.count)\r\n\r\n"
                + pair.body
            let response = try await offPool { [port = server.port] in
                Result { () throws -> RawHTTPResponse? in
                    let client = try RawHTTPClient(port: port)
                    _ = client.send(request)
                    return try client.readResponse()
                }
            }.get()
            let problem = try JSONDocument(parsing: try #require(response).body)
            #expect(problem["type"]?.string == "/problems/\(pair.problem.rawValue)", "\(pair.method) \(path)")
            #expect(problem["title"]?.string == pair.problem.title)
            do {
                try await pair.call(hub, ids)
                Issue.record("\(pair.method) \(path): no error in the process")
            } catch let error as HubError {
                #expect(error.problem == pair.problem, "\(pair.method) \(path)")
                let places = problem["errors"]?.elements.map { error in
                    (error["pointer"]?.string ?? error["parameter"]?.string.map { "/" + $0 }) ?? ""
                }
                // A body of several events names their place.
                if pair.problem == .validation { #expect(error.fields.map(\.pointer) == places, "\(path)") }
            }
        }
        await hub.stop(grace: .zero)
    }

    @Test("a version that is not the current one is refused in both")
    func version() async throws {
        let hub = try await makeHub()
        let webhook = try await hub.webhooks.add("http://127.0.0.1:9/")
        let changed = try await hub.webhooks.update(webhook.id) { $0.description = "new" }
        let error = await #expect(throws: HubError.self) {
            try await hub.webhooks.update(webhook.id, ifVersion: webhook.version) { $0.description = "newer" }
        }
        #expect(error?.problem == .preconditionFailed)
        await #expect(throws: HubError.self) {
            try await hub.webhooks.remove(webhook.id, ifVersion: webhook.version)
        }
        try await hub.webhooks.remove(webhook.id, ifVersion: changed.version)
        await hub.stop(grace: .zero)
        let late = await #expect(throws: HubError.self) { try await hub.webhooks.add("http://127.0.0.1:9/late") }
        #expect(late?.problem == .stopping)
    }

    // MARK: Completeness

    /// The counterpart of each operation of the HTTP API on webhooks.
    private static let counterparts = [
        "registerDelegate": "add", "listDelegates": "list", "unregisterAllDelegates": "removeAll",
        "getDelegate": "get", "changeDelegate": "update", "unregisterDelegate": "remove", "pauseDelegate": "pause",
        "resumeDelegate": "resume", "renewDelegate": "renew", "rotateSecret": "rotateSecret", "testDelegate": "test",
        "previewRequest": "preview", "previewDelegate": "preview",
        "replayDelegate": "replay", "listReplays": "replays", "endReplay": "endReplay",
        "getDelegateStatistics": "statistics", "explainDelegate": "explain", "listAttempts": "attempts",
        "getEvent": "stories",
        "redeliverEvent": "redeliver", "listDeliveries": "deliveries", "redeliver": "redeliverAll",
        "countDeliveries": "countDeliveries",
        "cancelDeliveries": "cancelAll", "streamAttempts": "followAttempts",
        "pullEvents": "pull", "acknowledgeEvents": "acknowledge", "extendLease": "extend", "seekDelegate": "seek",
        "listLeases": "leases", "endLease": "endLease",
    ]

    @Test("can do all that the HTTP API can do with them")
    func completeness() throws {
        let paths = try #require(try Repository.specification()["paths"]).members
        var operations: Set<String> = ["getEvent", "redeliverEvent", "streamAttempts"]
        for (path, item) in paths where path.hasPrefix("/v1/delegates") || path.hasPrefix("/v1/deliveries") {
            operations.formUnion(item.members.compactMap { $0.value["operationId"]?.string })
        }
        #expect(operations == Set(Self.counterparts.keys))
        let files = ["Webhooks", "Webhooks+Deliveries", "AttemptSequence", "Webhooks+Pulls", "PulledRun"]
        let code = try files.map { try Repository.text("Sources/Herald/Webhooks/\($0).swift") }.joined()
        for (operation, name) in Self.counterparts {
            #expect(code.contains("    public func \(name)("), "\(operation) has no \(name)")
        }
    }
}
