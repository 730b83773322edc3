import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// Several servers on one PostgreSQL database.
@Suite("Servers that share a database", .timeLimit(.minutes(20)))
final class SharingTests {
    private let url: String

    init() throws { url = try PostgresServer.shared().makeDatabase() }

    deinit { try? PostgresServer.shared().drop(url) }

    private func start() async throws -> HeraldProcess {
        try await HeraldProcess.start(
            command: ["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--store", url],
            adminKey: MadeKey.admin.text)
    }

    @Test("an event accepted by one node is visible on all at once")
    func knowledge() async throws {
        let (a, b) = (try await start(), try await start())
        for number in 1...20 {
            let key = try await a.makeKey("publish")
            let posted = try await b.post("/v1/events", #"{"type": "a.b"}"#, key.headers)
            #expect(posted.status == 202)
            #expect(try await a.get("/v1/events/\(posted.id)").status == 200)
            _ = try await a.get("/v1/events?type=a.b&limit=1") { $0.text.contains(posted.id) }
            let delegate = try await b.register("https://127.0.0.1:1/\(number)")
            #expect(try await a.get("/v1/delegates/\(delegate.id)").status == 200)
            // A large body is read on another thread.
            let other = try await b.register("https://127.0.0.1:1/large/\(number)")
            let large = #"{"description": "x""# + String(repeating: " ", count: 40_000) + "}"
            #expect(try await a.send("PATCH", "/v1/delegates/\(other.id)", large).status == 200)
            #expect(try await a.send("DELETE", "/v1/keys/\(key.id)", nil, [:]).status == 204)
            _ = try await b.get("/v1/events", key.headers) { $0.status == 401 }
        }
        for server in [a, b] { #expect(try await server.stop() == .exited(0)) }
    }

    @Test("an app state that one node has set is the one that another node does not change")
    func unchangedState() async throws {
        let (a, b) = (try await start(), try await start())
        for number in 1...50 {
            let body = #"{"state": "s\#(number)"}"#
            let set = try await a.send("PUT", "/v1/app-state", body)
            let kept = try await b.send("PUT", "/v1/app-state?if_changed=true", body)
            #expect(kept.status == 200 && kept.string("state") == "s\(number)")
            #expect(kept.header("etag") == set.header("etag"))
        }
        for server in [a, b] { #expect(try await server.stop() == .exited(0)) }
    }

    @Test("the feed of each node has the events of all nodes, once and in order, and continues at another node")
    func feed() async throws {
        let (a, b) = (try await start(), try await start())
        try await FeedReaders.check(publishing: [a, b], reading: [a, b, b])
        let page = try await a.get("/v1/events?after=earliest&limit=100")
        let next = try #require(page.string("next"))
        let rest = try await b.get("/v1/events?after=\(next)&limit=200")
        #expect(rest.data.count == 200 && rest["more"]?.bool == true)
        for server in [a, b] { #expect(try await server.stop() == .exited(0)) }
    }

    @Test("a publication that waits gets the outcomes of all nodes")
    func waits() async throws {
        let receiver = try Receiver { $0.path.hasPrefix("/bad") ? .status(500) : .status(204) }
        defer { receiver.close() }
        let servers = [try await start(), try await start()]
        for server in servers {
            _ = try await server.get("/v1/nodes") { $0.data.map { $0["shards"]?.count } == [32, 32] }
        }
        for number in 1...6 {
            let path = number.isMultiple(of: 2) ? "/bad\(number)" : "/\(number)"
            _ = try await servers[0].register(receiver.url(path), #""retry_schedule": [3600], "events": ["a.*"]"#)
        }
        _ = try await servers[0].register(receiver.url("/other"), #""events": ["other.*"]"#)
        for server in servers { _ = try await server.get("/v1/delegates?kind=webhook") { $0.data.count == 7 } }
        for server in servers {
            let answer = try await server.post("/v1/events", #"{"type": "a.b"}"#, ["Prefer": "wait=60"])
            #expect(answer.status == 200)
            let outcomes = answer["deliveries"]?.elements.map { $0["status_code"]?.integer ?? 0 } ?? []
            #expect(outcomes.sorted() == [204, 204, 204, 500, 500, 500])
            let nobody = try await server.post("/v1/events", #"{"type": "nobody"}"#, ["Prefer": "wait=60"])
            #expect(nobody.status == 200 && nobody["deliveries"]?.count == 0)
        }
        for server in servers { #expect(try await server.stop() == .exited(0)) }
    }

    @Test("a key that reaches the database damaged opens nothing at the other nodes, and they read all other changes")
    func damagedKey() async throws {
        let postgres = try PostgresServer.shared()
        let (a, b) = (try await start(), try await start())
        try postgres.sql(
            """
            CREATE FUNCTION public.spoil() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN NEW.scopes := ''x''; RETURN NEW; END'
            """, url)
        try postgres.sql(
            "CREATE TRIGGER spoil BEFORE INSERT ON herald.keys FOR EACH ROW EXECUTE FUNCTION public.spoil()", url)
        let bad = try await a.makeKey("publish")
        try postgres.sql("DROP TRIGGER spoil ON herald.keys", url)
        let good = try await a.makeKey("publish")
        let event = #"{"type": "a.b"}"#
        #expect(try await b.post("/v1/events", event, good.headers).status == 202)
        #expect(try await b.post("/v1/events", event, bad.headers).status == 401)
        let message = "rows that cannot be read are left out or replaced"
        try await eventually("the log names the key") { !b.log(message).isEmpty }
        let line = try #require(b.log(message).first)
        #expect(line["table"]?.string == "keys" && line["first"]?.string == bad.id)
        #expect(try await b.get("/metrics").text.contains("\nherald_damaged_rows 1\n"))
        for server in [a, b] { #expect(try await server.stop() == .exited(0)) }
    }

    @Test("each node lists the pending deliveries of all nodes, and one node counts what waits for a pull")
    func pending() async throws {
        let servers = [try await start(), try await start()]
        for server in servers {
            _ = try await server.get("/v1/nodes") { $0.data.map { $0["shards"]?.count } == [32, 32] }
        }
        var ids: [String] = []
        for number in 1...6 {
            let id = try await servers[0].register("http://127.0.0.1:9/\(number)").id
            #expect(try await servers[0].send("POST", "/v1/delegates/\(id)/pause").status == 200)
            ids.append(id)
        }
        // A node that has not heard of a pause attempts the delivery.
        for server in servers {
            _ = try await server.get("/v1/delegates?status=paused") { $0.data.count == 6 }
        }
        let event = try await servers[1].publish()
        let wanted = ids
        for server in servers {
            let list = try await server.get("/v1/deliveries?state=pending") {
                $0.data.compactMap { $0["delegate"]?.string } == wanted
            }
            #expect(list.data.allSatisfy { $0["event"]?.string == event })
        }
        let pull = try await servers[0].post("/v1/delegates", #"{"kind": "pull"}"#).id
        try await servers[1].publish()
        var counts: [Bool] = []
        for server in servers {
            _ = try await server.get("/v1/delegates/\(pull)") { $0["lag"]?["events"]?.integer == 1 }
            let page = try await server.get("/metrics").text
            counts.append(page.contains("\nherald_lane_lag_events{status=\"active\"} 1\n"))
        }
        #expect(Set(counts) == [true, false], "one node counts the events that wait for a pull")
        for server in servers { #expect(try await server.stop() == .exited(0)) }
    }

    @Test("each event arrives once, from every node; a node that ends leaves its deliveries to the others")
    func deliveries() async throws {
        let ledger = Ledger()
        let receiver = try Receiver { ledger.record($0) }
        defer { receiver.close() }
        var servers = [try await start(), try await start(), try await start()]
        let paths = (1...12).map { "/\($0)" }
        for (number, path) in paths.enumerated() {
            _ = try await servers[number % 3].register(receiver.url(path), #""ordering": "strict""#)
        }
        var posted: [String] = []
        func publish(_ count: Int) async throws {
            for number in 0..<count { posted.append(try await servers[number % servers.count].publish()) }
        }
        try await publish(30)
        #expect(try await servers.removeLast().stop() == .exited(0))
        try await publish(30)
        servers.append(try await start())
        try await publish(30)
        let all = posted
        _ = try await eventually("all have arrived") {
            paths.allSatisfy { ledger.ids($0).count >= all.count } ? true : nil
        }
        for server in servers { #expect(try await server.stop() == .exited(0)) }
        for path in paths { #expect(ledger.ids(path) == all, "\(path)") }
    }

    @Test("after a kill the others deliver, and every server shows the lag and makes test calls of all delegates")
    func kill() async throws {
        let ledger = Ledger()
        let receiver = try Receiver { request in
            if request.path == "/down" { return .status(500) }
            return ledger.record(request)
        }
        defer { receiver.close() }
        let (a, b) = (try await start(), try await start())
        let paths = (1...8).map { "/\($0)" }
        var ids: [String] = []
        for path in paths { ids.append(try await a.register(receiver.url(path)).id) }
        for server in [a, b] {
            for id in ids { #expect(try await server.post("/v1/delegates/\(id)/test", "").status == 200) }
        }
        let paused = try await a.register(receiver.url("/paused")).id
        #expect(try await b.post("/v1/delegates/\(paused)/pause", "").status == 200)
        // A node that has not heard of a pause attempts deliveries.
        for server in [a, b] {
            _ = try await server.get("/v1/delegates/\(paused)") { $0.string("status") == "paused" }
        }
        for _ in 0..<5 { try await b.publish() }
        for server in [a, b] {
            _ = try await server.get("/v1/delegates/\(paused)") { $0.text.contains(#""lag":{"events":5,"#) }
        }
        try await a.kill()
        let last = try await b.publish()
        _ = try await eventually("the others deliver") {
            paths.allSatisfy { ledger.ids($0).contains(last) } ? true : nil
        }
        #expect(try await b.stop() == .exited(0))
    }
}
