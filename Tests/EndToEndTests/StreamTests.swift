import Foundation
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

@Suite("The live stream", .timeLimit(.minutes(20)), .serialized)
struct StreamTests {
    @Test("events appear as they are published, with the same data as in the log, filtered by parameters")
    func live() async throws {
        let herald = try await HeraldProcess.start()
        try await herald.publish("order.paid")
        let port = herald.port
        let listener = try await RawHTTP.onThread {
            Box(try StreamClient(port: port, "?events=auth.*,order.paid&subjects=user:1,order:7"))
        }
        #expect(listener.value.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(listener.value.head.contains("\r\nContent-Type: text/event-stream\r\n"))
        #expect(listener.value.head.contains("\r\nCache-Control: no-store\r\n"))
        #expect(listener.value.head.contains("\r\nRequest-Id: req_"))
        let ready = try #require(try await RawHTTP.onThread { try listener.value.next() })
        #expect(ready.name == "ready" && ready.id?.hasPrefix("@") == true && ready.json?["after"]?.string == ready.id)

        try await herald.publish("order.shipped", #""subject": "order:7""#)
        try await herald.publish("order.paid", #""subject": "order:8""#)
        let paid = try await herald.publish("order.paid", #""subject": "order:7""#, "\"data\": {\"a\":\n [1,\r\n2]}")
        let first = try #require(try await RawHTTP.onThread { try listener.value.next() })
        #expect(first.name == nil && first.id == paid)
        let shown = try await herald.get("/v1/events/\(paid)")
        for member in ["id", "type", "subject", "time"] {
            #expect(first.json?[member]?.bytes == shown[member]?.bytes, "\(member)")
        }
        #expect(first.json?["data"]?["a"]?.elements.compactMap(\.integer) == [1, 2])

        let login = try await herald.publish("auth.logged_in", #""data": {"user": {"id": 1}}"#)
        #expect(try await RawHTTP.onThread { try listener.value.next() }?.id == login)
        let changed = try #require(try await RawHTTP.onThread { try listener.value.next() })
        #expect(changed.json?["type"]?.string == "auth.status_changed")
        try await herald.stop()
        #expect(try await RawHTTP.onThread { try listener.value.next() } == nil)
    }

    @Test("a stream is listed among the delegates while it is open")
    func listed() async throws {
        let herald = try await HeraldProcess.start()
        let port = herald.port
        let listener = try await RawHTTP.onThread { Box(try StreamClient(port: port, "?events=a.*&subjects=s")) }
        let listed = try await herald.get("/v1/delegates?kind=stream") { $0.data.count == 1 }.data[0]
        #expect(listed["kind"]?.string == "stream" && listed["status"]?.string == "active")
        #expect(listed["events"]?.elements.map(\.string) == ["a.*"])
        #expect(listed["subjects"]?.elements.map(\.string) == ["s"])
        #expect(listed["description"]?.string == "test at 127.0.0.1")
        let id = try #require(listed["id"]?.string)
        #expect(try await herald.get("/v1/delegates/\(id)").string("kind") == "stream")
        #expect(try await herald.get("/v1/delegates?event=b.c&kind=stream").data.isEmpty)
        #expect(try await herald.get("/v1/delegates?status=paused&kind=stream").data.isEmpty)
        #expect(try await herald.get("/v1/delegates").data.contains { $0["id"]?.string == id })
        listener.value.leave()
        _ = try await herald.get("/v1/delegates?kind=stream") { $0.data.isEmpty }
        #expect(try await herald.get("/v1/delegates/\(id)").status == 404)
    }

    @Test("it starts at earliest, a time or an id; an unknown id is reported")
    func beginnings() async throws {
        let herald = try await HeraldProcess.start()
        var ids: [String] = []
        for _ in 0..<5 { ids.append(try await herald.publish("a.b")) }
        let port = herald.port
        let all = ids
        try await RawHTTP.onThread {
            func messages(_ query: String, _ count: Int, header: String? = nil) throws -> [StreamMessage] {
                let client = try StreamClient(port: port, query, lastEventID: header)
                return try (0..<count).compactMap { _ in try client.next() }
            }
            let earliest = try messages("?last_event_id=earliest", 6)
            #expect(earliest[0].name == "ready" && earliest[0].id == "earliest")
            #expect(earliest.dropFirst().compactMap(\.id) == all)
            #expect(try messages("?last_event_id=\(all[2])", 3).compactMap(\.id) == Array(all[2...]))
            // An encrypted position, of an event of any app. It is different each time.
            let ends = try (0..<2).map { _ in try #require(try messages("", 1)[0].id) }
            #expect(ends[0] != ends[1] && Set(ends.map(\.count)) == [27])
            #expect(try ends.allSatisfy { try messages("", 1, header: $0)[0].name == "ready" })
            for unknown in ["@3", "@", "@\(all[2].dropFirst(4))"] {
                #expect(try messages("", 1, header: unknown)[0].name == "reset")
            }
            #expect(try messages("?last_event_id=earliest", 2, header: all[3]).compactMap(\.id) == Array(all[3...]))
            #expect(try messages("?last_event_id=2020-01-01T00:00:00Z", 6).dropFirst().compactMap(\.id) == all)
            for unknown in ["nobody-knows", "not an id"] {
                let lost = try messages("", 1, header: unknown)[0]
                #expect(lost.name == "reset" && lost.id?.hasPrefix("@") == true)
                #expect(lost.json?["detail"]?.string?.contains("GET /v1/events") == true)
            }
        }
    }

    @Test("a client whose last event has a time as its id continues after this event")
    func idsLikeTimes() async throws {
        let herald = try await HeraldProcess.start()
        let time = "2999-01-01T00:00:00Z"
        try await herald.publish("a.b", "\"id\": \"\(time)\"")
        let missed = try await herald.publish("a.b")
        let port = herald.port
        try await RawHTTP.onThread {
            for (query, header) in [("", time), ("?last_event_id=\(time)", nil)] as [(String, String?)] {
                let client = try StreamClient(port: port, query, lastEventID: header)
                let ready = try #require(try client.next())
                #expect(ready.name == "ready" && ready.id == time)
                let next = try #require(try client.next())
                #expect(next.id == missed)
            }
        }
        let feed = try await herald.get("/v1/events?after=\(time)")
        #expect(feed.data.compactMap { $0["id"]?.string } == [missed])
    }

    @Test("an event whose id is the name of a position is not where a client resumes", arguments: ["now", "earliest"])
    func idsLikeWords(word: String) async throws {
        let herald = try await HeraldProcess.start()
        let first = try await herald.publish("a.b")
        try await herald.publish("a.b", "\"id\": \"\(word)\"")
        let port = herald.port
        try await RawHTTP.onThread {
            let client = try StreamClient(port: port, lastEventID: first)
            #expect(try client.next()?.id == first)
            let message = try #require(try client.next())
            #expect(message.id == nil && message.json?["id"]?.string == word)
        }
    }

    @Test("invalid parameters are refused, and HEAD and OPTIONS work")
    func refusals() async throws {
        let herald = try await HeraldProcess.start()
        for (query, status) in [
            ("?events=a:b", 422), ("?events=", 422), ("?subjects=,", 422), ("?subjects=a*b", 422),
            ("?last_event_id=a%20b", 422), ("?x=1", 422),
        ] {
            #expect(try await herald.get("/v1/events/stream\(query)").status == status, "\(query)")
        }
        #expect(try await herald.get("/v1/events/stream", ["Accept": "application/json"]).status == 406)
        #expect(try await herald.post("/v1/events/stream", "{}").status == 405)
        let head = try await herald.send("HEAD", "/v1/events/stream")
        #expect(head.status == 200 && head.header("content-type") == "text/event-stream")
        #expect(try await herald.get("/v1/delegates?kind=stream").data.isEmpty)
    }

    @Test(
        "clients that lose their connection, and a killed server: everything arrives once, in order",
        .timeLimit(.minutes(20)))
    func reconnecting() async throws {
        let book = Book()
        let receiver = try Receiver { book.record($0) }
        defer { receiver.close() }
        var herald = try await HeraldProcess.start()
        let delegate = try await herald.register(receiver.url()).id
        let clients = (0..<6).map {
            ReturningClient(
                port: herald.port, query: "?last_event_id=earliest", breaks: 20 + 20 * $0, seed: UInt64($0))
        }
        let watchers = (0..<4).map {
            ReturningClient(
                port: herald.port, path: "/v1/attempts/stream", query: "?last_event_id=earliest",
                breaks: 20 + 20 * $0, seed: 100 + UInt64($0))
        }
        for round in 0..<3 {
            let load = Load(port: herald.port, publishers: 3, prefix: "r\(round)")
            try await eventually("events were posted") { load.result.acknowledged.count >= 300 }
            if round < 2 {
                try await herald.kill()
                _ = try await load.stop()
                herald = try await herald.restart()
                for client in clients + watchers { client.move(to: herald.port) }
            } else {
                _ = try await load.stop()
            }
        }
        let posted = Set(try await Self.all("/v1/events", herald).filter { $0.hasPrefix("r") })
        try await eventually("everything is delivered") { posted.isSubset(of: book.ids) }
        // A stop writes the last checkpoint: from then on all that was delivered is recorded, and listed.
        try await herald.stop()
        herald = try await herald.restart()
        for client in clients + watchers { client.move(to: herald.port) }
        for (listeners, list) in [(clients, "/v1/events"), (watchers, "/v1/delegates/\(delegate)/attempts")] {
            let expected = try await Self.all(list, herald)
            #expect(expected.count >= 900)
            try await eventually("all clients of \(list) were told everything") {
                listeners.allSatisfy { $0.ids.count >= expected.count }
            }
            for client in listeners {
                #expect(client.ids == expected)
                #expect(client.resets == 0)
                #expect(client.connections > 3)
                client.stop()
            }
        }
        try await herald.publish("one.more")
        try await herald.stop()
    }

    /// 30 s are the bound of the server itself.
    @Test(
        "a client that does not read is disconnected after 30 s, and misses nothing when it returns",
        .timeLimit(.minutes(20)))
    func slow() async throws {
        let book = Book()
        let receiver = try Receiver { book.record($0) }
        defer { receiver.close() }
        var herald = try await HeraldProcess.start()
        let delegate = try await herald.register(receiver.url()).id
        let port = herald.port
        let paths = ["/v1/events/stream", "/v1/attempts/stream"]
        let slow = try await RawHTTP.onThread {
            try paths.map { Box(try StreamClient(port: port, "?last_event_id=earliest", path: $0)) }
        }
        let filler = String(repeating: "x", count: 800)
        let batch =
            "[" + Array(repeating: #"{"type":"a.b","data":"\#(filler)"}"#, count: 200).joined(separator: ",") + "]"
        for _ in 0..<25 { #expect(try await herald.post("/v1/events", batch).status == 202) }
        // They keep what the system took for them, and are behind.
        _ = try await herald.get("/v1/delegates?kind=stream") { answer in
            answer.data.count == 2
                && answer.data.allSatisfy { ($0["lag"]?.members.first { _ in true }?.value.integer ?? 0) > 0 }
        }
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_http_streams_cut_total 2\n") }
        #expect(try await herald.get("/v1/delegates?kind=stream").data.isEmpty)
        try await eventually("everything is delivered") { book.ids.count == 5_000 }
        // A stop writes the last checkpoint: from then on all that was delivered is recorded, and listed.
        try await herald.stop()
        herald = try await herald.restart()
        let next = herald.port
        for (index, list) in ["/v1/events", "/v1/delegates/\(delegate)/attempts"].enumerated() {
            let expected = try await Self.all(list, herald)
            #expect(expected.count == 5_000)
            let told = try await RawHTTP.onThread {
                var told: [String] = []
                while let message = try slow[index].value.next() {
                    if message.name == nil { told += [message.id ?? ""] }
                }
                #expect(!told.isEmpty && told.count < expected.count)
                let again = try StreamClient(port: next, path: paths[index], lastEventID: told.last)
                while told.count < expected.count, let message = try again.next() {
                    if message.name == nil { told += [message.id ?? ""] } else { #expect(message.name == "ready") }
                }
                return told
            }
            #expect(told == expected)
        }
    }

    /// The ids of a list, oldest first.
    private static func all(_ list: String, _ herald: HeraldProcess) async throws -> [String] {
        var found: [String] = []
        var cursor: String? = ""
        while let next = cursor {
            let page = try await herald.get("\(list)?limit=200" + (next.isEmpty ? "" : "&cursor=\(next)"))
            found += page.data.compactMap { $0["id"]?.string }
            cursor = page.string("next_cursor")
        }
        return found.reversed()
    }

    @Test("a long poll of the app state ends with the next change, or at its timeout")
    func longPoll() async throws {
        let herald = try await HeraldProcess.start()
        #expect(try await herald.get("/v1/app-state?wait=1&if_none_match=0").status == 200)
        let set = try await herald.send("PUT", "/v1/app-state", #"{"state": "idle"}"#)
        let tag = try #require(set.header("etag"))
        let known = tag.filter { $0 != "\"" }
        let server = herald
        async let waiting = server.get("/v1/app-state?wait=60&if_none_match=\(known)")
        async let next = server.get("/v1/app-state?wait=60")
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_http_requests_waiting 2\n") }
        _ = try await herald.send("PUT", "/v1/app-state", #"{"state": {"ready": true}}"#)
        for answer in try await [waiting, next] {
            #expect(answer.status == 200)
            #expect(answer["state"]?["ready"]?.bool == true)
        }
        // It has changed already: at once.
        #expect(try await herald.get("/v1/app-state?wait=60&if_none_match=%22\(known)%22").status == 200)
        #expect(try await herald.get("/v1/app-state?wait=60", ["If-None-Match": "\"\(known)\""]).status == 200)
        let current = try #require(try await herald.get("/v1/app-state").header("etag")).filter { $0 != "\"" }
        #expect(try await herald.get("/v1/app-state?wait=1&if_none_match=\(current)").status == 304)
        #expect(try await herald.get("/v1/app-state?wait=1", ["If-None-Match": "\"\(current)\""]).status == 304)
        #expect(try await herald.get("/v1/app-state?wait=1").status == 200)
        for wrong in ["-1", "61", "x"] { #expect(try await herald.get("/v1/app-state?wait=\(wrong)").status == 422) }
    }

    @Test("a long poll with a key that is revoked does not get the app state")
    func revokedPoll() async throws {
        let herald = try await HeraldProcess.start(adminKey: MadeKey.admin.text)
        let key = try await herald.makeKey("read")
        let server = herald
        async let waiting = server.get("/v1/app-state?wait=60", key.headers)
        _ = try await herald.get("/metrics") { $0.text.contains("\nherald_http_requests_waiting 1\n") }
        #expect(try await herald.send("DELETE", "/v1/keys/\(key.id)").status == 204)
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": "open"}"#).status == 200)
        let answer = try await waiting
        #expect(answer.status == 401 && !answer.text.contains("open"))
    }
}

/// A client that one thread after another uses, never two at a time.
final class Box: @unchecked Sendable {
    let value: StreamClient
    init(_ value: StreamClient) { self.value = value }
}
