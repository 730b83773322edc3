import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// `herald migrate`.
@Suite("A move between a data folder and PostgreSQL", .enabled(if: TestStore.isFolder), .timeLimit(.minutes(20)))
final class MigrateTests {
    private let folder = TemporaryFolder()
    private let url: String
    private var data: String { folder.path + "/data" }
    private static let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    init() throws { url = try PostgresServer.shared().makeDatabase() }

    deinit { try? PostgresServer.shared().drop(url) }

    private func start(_ store: String...) async throws -> HeraldProcess {
        try await HeraldProcess.start(
            command: ["serve", "--listen", "127.0.0.1:0", "--log-format", "json"] + store,
            environment: ["HERALD_MASTER_KEY": Self.key], adminKey: MadeKey.admin.text)
    }

    private func migrate(_ arguments: String...) async throws -> (end: ChildProcess.End, text: String) {
        try await Binary.run(["migrate"] + arguments)
    }

    private func refused(_ command: [String], _ code: Int32, _ sentence: String) async throws {
        let (end, text) = try await Binary.run(command, environment: ["HERALD_MASTER_KEY": Self.key])
        #expect(end == .exited(code) && text.contains(sentence), "\(text)")
    }

    /// The lists and records, without fields of a process or of this moment.
    private func lists(_ herald: HeraldProcess, _ delegates: [String], _ events: [String]) async throws -> [String] {
        let paths =
            [
                "/v1/events?limit=100", "/v1/deliveries?limit=100", "/v1/event-types", "/v1/apps", "/v1/keys",
                "/v1/app-state", "/v1/auth/42", "/v1/audit?limit=100", "/v1/deliveries?state=retrying",
                "/v1/delegates?kind=webhook",
            ]
            + delegates.flatMap { id in
                [
                    "/v1/delegates/\(id)", "/v1/delegates/\(id)/attempts?limit=100", "/v1/delegates/\(id)/replays",
                    "/v1/delegates/\(id)/stats",
                ]
            } + events.map { "/v1/events/\($0)" }
        var found: [String] = []
        for path in paths {
            let answer = try await herald.get(path)
            #expect(answer.status == 200, "\(path): \(answer.text)")
            // Flow control restarts, and the last use of a key belongs to the process.
            let text = answer.text.replacing(#/"flow":\{[^}]*\}/#, with: "").replacing(
                #/"last_used_at":[^,}]*/#, with: "")
            found.append("\(path) \(text)")
        }
        return found
    }

    @Test("everything is there after a move, and after the way back; each delivery is made once")
    func thereAndBack() async throws {
        let (ledger, isUp) = (Ledger(), Flag())
        let receiver = try Receiver { request in
            // It is stored encrypted.
            if request.header("x-secret") != "Zerberus", !request.path.hasSuffix("/paused") { return .status(400) }
            if request.path.hasPrefix("/later"), !isUp.isSet { return .status(503) }
            return ledger.record(request)
        }
        defer { receiver.close() }
        let first = try await start("--data", data)
        var delegates: [String] = []
        // As many as there may be: none is exhausted before the receiver takes them, also on a slow machine.
        let retries = (Array(repeating: "2", count: 6) + Array(repeating: "8", count: 14)).joined(separator: ", ")
        for ordering in ["none", "subject", "strict"] {
            for path in ["/now/\(ordering)", "/later/\(ordering)"] {
                let made = try await first.register(
                    receiver.url(path), #""ordering": "\#(ordering)""#, #""retry_schedule": [\#(retries)]"#,
                    #""headers": {"x-secret": "Zerberus"}"#)
                delegates.append(made.id)
            }
        }
        let paused = try await first.register(receiver.url("/later/paused")).id
        #expect(try await first.post("/v1/delegates/\(paused)/pause", "").status == 200)
        let key = try await first.makeKey("publish")
        #expect(try await first.post("/v1/apps", #"{"name": "shop"}"#).status == 201)
        #expect(
            try await first.send("PUT", "/v1/event-types/order.paid", #"{"description": "An order"}"#).status < 300)
        let login = #"{"type": "auth.logged_in", "data": {"user": {"id": 42, "name": "Ada"}}}"#
        #expect(try await first.post("/v1/events", login).status == 202)
        let answered = try await first.post("/v1/events", #"{"type": "a.b"}"#, ["Idempotency-Key": "k"])
        let erased = try await first.publish("a.b", #""subject": "user:9""#)
        #expect(try await first.send("DELETE", "/v1/subjects/user:9").status == 200)
        var events: [String] = []
        for number in 0..<30 {
            events.append(try await first.publish("order.paid", #""subject": "order:\#(number % 3)""#))
        }
        for id in [delegates[0], paused] {
            #expect(try await first.post("/v1/delegates/\(id)/replay", #"{"from": "earliest"}"#).status < 300)
        }

        let page = try await first.get("/v1/events?limit=10")
        let cursor = try #require(page.string("next_cursor"))
        let rest = try await first.get("/v1/events?limit=100&cursor=\(cursor)")
        _ = try await eventually("all that can be is delivered") { [events] in
            ["none", "subject", "strict"].allSatisfy { ordering in
                Set(ledger.ids("/now/\(ordering)")).isSuperset(of: events)
            } ? true : nil
        }
        #expect(try await first.stop() == .exited(0))
        let there = try await migrate(data, url)
        #expect(there.end == .exited(0), "\(there.text)")
        #expect(there.text.contains("events,") && there.text.contains("as in \(data)"))
        try await refused(["serve", "--listen", "127.0.0.1:0", "--data", data], 65, "was moved to postgres://")
        try await refused(["migrate", data, url], 65, "was moved already")

        let second = try await start("--store", url)
        #expect(try await second.get("/v1/events?limit=100&cursor=\(cursor)").text == rest.text)
        let again = try await second.post("/v1/events", #"{"type": "a.b"}"#, ["Idempotency-Key": "k"])
        #expect(again.text == answered.text)
        events.append(try await second.publish("order.paid", #""subject": "order:1""#))
        #expect(try await second.post("/v1/events", #"{"type": "order.paid"}"#, key.headers).status == 202)
        #expect(try await second.post("/v1/delegates/\(paused)/resume", "").status == 200)
        isUp.set()
        _ = try await eventually("the rest is delivered") { [events] in
            ["/later/none", "/later/subject", "/later/strict", "/later/paused", "/now/strict"].allSatisfy {
                Set(ledger.ids($0)).isSuperset(of: events)
            } ? true : nil
        }
        let story = try await second.get("/v1/events/\(erased)")
        #expect(story["subject"]?.isNull == true)
        try await refused(["migrate", url, folder.path + "/back"], 75, "A server uses postgres://")
        // What has just been delivered is recorded a moment later, and the ends of replays another one.
        for event in events {
            _ = try await second.get("/v1/events/\(event)") { story in
                story["deliveries"]?.elements.allSatisfy { $0["state"]?.string == "delivered" } ?? false
            }
        }
        for id in delegates + [paused] {
            _ = try await second.get("/v1/delegates/\(id)/replays") { $0.data.isEmpty }
            _ = try await second.get("/v1/delegates/\(id)") { delegate in
                ["events", "in_flight", "retrying"].allSatisfy { delegate["lag"]?[$0]?.integer == 0 }
            }
        }
        let before = try await lists(second, delegates, events)
        #expect(try await second.stop() == .exited(0))
        let back = try await migrate(url, folder.path + "/back")
        #expect(back.end == .exited(0), "\(back.text)")
        try await refused(["serve", "--listen", "127.0.0.1:0", "--store", url], 65, "was moved to")
        #expect(try await Binary.run(["check", folder.path + "/back"]).end == .exited(0))
        let third = try await start("--data", folder.path + "/back")
        let after = try await lists(third, delegates, events)
        for (there, here) in zip(before, after) { #expect(there == here) }
        #expect(try await third.post("/v1/events", #"{"type": "order.paid"}"#, key.headers).status == 202)
        let last = try await third.publish()
        _ = try await eventually("it delivers") { ledger.ids("/now/strict").contains(last) ? true : nil }
        #expect(try await third.stop() == .exited(0))
        for path in ["/now/none", "/now/subject", "/now/strict", "/later/none", "/later/subject", "/later/strict"] {
            // Those of the replay come twice.
            let ids = ledger.ids(path)
            if path != "/now/none" { #expect(Set(ids).count == ids.count, "\(path)") }
            if path.hasSuffix("strict") { #expect(ids.filter(events.contains) == events, "\(path)") }
        }
    }

    @Test("killed at any point, it can continue", arguments: [1, 2, 3] as [UInt64])
    func kills(_ seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let first = try await start("--data", data)
        let id = try await first.register("http://127.0.0.1:1/", #""retry_schedule": [3600]"#).id
        let event = #"{"type": "a.b", "data": "\#(String(repeating: "x", count: 200))"}"#
        let posted = "[" + Array(repeating: event, count: 1000).joined(separator: ",") + "]"
        for _ in 0..<10 { #expect(try await first.post("/v1/events", posted).status == 202) }
        try await first.kill()
        func killed(_ from: String, _ to: String) async throws {
            for _ in 0..<6 {
                let move = try ChildProcess(try Binary.path(), ["migrate", from, to])
                // Where it is then depends on the machine; any place will do.
                let lives = random.number(20...900)
                _ = try await RawHTTP.onThread { usleep(UInt32(lives) * 1000) }
                move.signal(SIGKILL)
                if try await move.ended() == .exited(0) { return }
            }
            // The session of the last one may live on for a moment.
            _ = try await eventually("it is moved") {
                let move = try ChildProcess(try Binary.path(), ["migrate", from, to])
                let end = try blockUntil("it ends") { move.end }
                // The last kill may have come between the end of the move and that of the process.
                return end == .exited(0) || move.text.contains("was moved already") ? true : nil
            }
        }
        try await killed(data, url)
        let second = try await start("--store", url)
        let events = try await second.get("/v1/events?limit=100&type=a.b").text
        #expect(try await second.get("/v1/delegates/\(id)").status == 200)
        #expect(try await second.stop() == .exited(0))
        try await killed(url, data)
        let check = try await Binary.run(["check", data])
        #expect(check.end == .exited(0) && check.text.contains("events: 10"), "\(check.text)")
        let third = try await start("--data", data)
        #expect(try await third.get("/v1/events?limit=100&type=a.b").text == events)
        #expect(try await third.stop() == .exited(0))
    }

    @Test("what can't be moved is refused with a sentence")
    func refusals() async throws {
        let nothing = folder.path + "/nothing"
        try await refused(["migrate", nothing, url], 66, "There is no Herald database in \(nothing)")
        try await refused(["migrate", url, nothing], 66, "There is no Herald database in postgres://")
        try await refused(["migrate", nothing, folder.path], 64, "the other one the address of a database")
        try await refused(["migrate", nothing, "postgres://h:secret@/x"], 64, "PGPASSFILE")
        let first = try await start("--data", data)
        try await first.publish()
        try await refused(["migrate", data, url], 75, "uses \(data). Stop it")
        #expect(try await first.stop() == .exited(0))
        try await refused(["migrate", data, "postgres://h@/x?host=/nonexistent"], 69, "can't be reached")
        let other = try PostgresServer.shared().makeDatabase()
        defer { try? PostgresServer.shared().drop(other) }
        let second = try await start("--store", other)
        try await refused(["migrate", data, other], 75, "A server uses")
        #expect(try await second.stop() == .exited(0))
        try await refused(["migrate", other, folder.path], 73, "is not empty")
        try await refused(["migrate", data, other], 73, "has another Herald's events already")
        let database = data + "/herald.db"
        var bytes = try Files.read(database)
        for place in bytes.indices where bytes[place...].starts(with: "test.happened".utf8) { bytes[place] = 84 }
        try Files.write(bytes, to: database)
        try await refused(["migrate", data, url], 65, "is damaged")
    }
}
