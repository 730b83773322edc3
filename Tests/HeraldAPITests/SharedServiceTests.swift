import HeraldCore
import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime
import HeraldTestSupport
import Testing

@testable import HeraldAPI

@Suite("Servers that share a store", .timeLimit(.minutes(20)))
struct SharedServiceTests {
    private struct Node {
        let hub: Hub
        let server: HTTPServer

        init(_ store: any EventStore, clock: Clock = .system) throws {
            hub = try Hub.inMemory(store: store, clock: clock)
            var configuration = HeraldService.Configuration()
            configuration.operatorKey = "an operator's key of these tests"
            configuration.servesSvix = true
            var serving = HTTPServerConfiguration(maxBodyBytes: PublicationLimits.defaultBytes)
            // A test whose thread waits for others must not be cut off.
            serving.requestDeadlineSeconds = 600
            server = try HTTPServer(
                serving, handler: HeraldService(hub: hub, configuration: configuration))
        }

        func send(_ method: String, _ path: String, key: String, body: String = "") async throws -> (Int, String) {
            let request =
                "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(key)\r\n"
                + (body.isEmpty ? "" : "Content-Type: application/json\r\n")
                + "Content-Length: \(body.utf8.count)\r\n\r\n" + body
            let found = try await response(to: request)
            return (found.status, String(decoding: found.body, as: UTF8.self))
        }

        /// - Returns: the cookie of a new session.
        func signIn(_ key: String) async throws -> String {
            let body = #"{"key":"\#(key)"}"#
            let head =
                "POST /v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                + "\(body.utf8.count)\r\n\r\n"
            let response = try await response(to: head + body)
            let cookie = try #require(response.headers.first { $0.name.lowercased() == "set-cookie" }?.value)
            return String(cookie.prefix { $0 != ";" })
        }

        func send(_ method: String, _ path: String, cookie: String) async throws -> (Int, String) {
            let response = try await response(
                to: "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nCookie: \(cookie)\r\n"
                    + "Sec-Fetch-Site: same-origin\r\nContent-Length: 0\r\n\r\n")
            return (response.status, String(decoding: response.body, as: UTF8.self))
        }

        private func response(to request: String) async throws -> RawHTTPResponse {
            let response = try await offPool { [port = server.port] in
                Result { () throws -> RawHTTPResponse? in
                    let client = try RawHTTPClient(port: port)
                    _ = client.send(request)
                    return try client.readResponse()
                }
            }.get()
            return try #require(response)
        }

        func stop() async {
            server.stop()
            await offPool { hub.stop(grace: 0) }
        }
    }

    /// A store for which no reader can be made.
    private final class UnreadStore: EventStore {
        private let memory = MemoryStore()

        func recover() throws(StoreError) -> Recovery { try memory.recover() }
        func recover(_ shards: Shards, maxRows: Int) throws(StoreError) -> LaneRecovery {
            memory.recover(shards, maxRows: maxRows)
        }
        func transaction(
            _ kind: TransactionKind, _ body: (any StoreTransaction) throws(StoreError) -> Void
        ) throws(StoreError) -> Commit { try memory.transaction(kind, body) }
        func makeReader() throws(StoreError) -> any StoreReader {
            throw .notWritable(path: "herald.db", reason: "too many open files")
        }
        func health() {}
        var damagedEvents: DamagedEvents { memory.damagedEvents }
        var damagedRows: DamagedRows { memory.damagedRows }
        func close() {}
    }

    private let operatorKey = "an operator's key of these tests"

    private func member(_ name: String, of json: String) throws -> String {
        try #require(JSONDocument(parsing: json)[name]?.string)
    }

    @Test(
        "what one makes, the other has at once: keys, apps and delegates; and what one revokes is refused by the other")
    func atOnce() async throws {
        let memory = MemoryStore()
        let (a, b) = (try Node(memory), try Node(memory))
        for number in 1...10 {
            let made = try await a.send(
                "POST", "/v1/keys", key: operatorKey, body: #"{"name":"k","scopes":["manage","publish"]}"#)
            let key = try member("key", of: made.1)
            let registered = try await b.send(
                "POST", "/v1/delegates", key: key, body: "{\"url\":\"http://127.0.0.1:9/\(number)\"}")
            #expect(registered.0 == 201, "\(registered)")
            let id = try member("id", of: registered.1)
            #expect(try await a.send("GET", "/v1/delegates/\(id)", key: key).0 == 200)
            #expect(try await b.send("DELETE", "/v1/delegates/\(id)", key: key).0 == 204)
            let keyID = try member("id", of: made.1)
            #expect(try await b.send("DELETE", "/v1/keys/\(keyID)", key: operatorKey).0 == 204)
            try await eventually("the key is refused") { a.hub.committed.keys.entry(id: keyID) == nil }
            #expect(try await a.send("GET", "/v1/delegates", key: key).0 == 401)
        }
        // An unknown key is counted once.
        let wrong = "hrld_00000000000000000000000000_" + String(repeating: "x", count: 43)
        #expect(try await a.send("GET", "/v1/delegates", key: wrong).0 == 401)
        #expect(try await a.send("GET", "/v1/delegates/none", key: operatorKey).0 == 404)
        #expect(try await a.send("GET", "/v1/nowhere", key: operatorKey).0 == 404)
        for node in [a, b] { await node.stop() }
    }

    @Test("a key of another app that one makes can be rotated and revoked at the other at once")
    func keysOfApps() async throws {
        let memory = MemoryStore()
        let (a, b) = (try Node(memory), try Node(memory))
        #expect(try await a.send("POST", "/v1/apps", key: operatorKey, body: #"{"name":"other"}"#).0 == 201)
        for _ in 1...20 {
            let made = try await a.send(
                "POST", "/v1/keys", key: operatorKey, body: #"{"name":"k","scopes":["read"],"app":"other"}"#)
            let id = try member("id", of: made.1)
            let rotated = try await b.send("POST", "/v1/keys/\(id)/rotate", key: operatorKey)
            #expect(rotated.0 == 201, "\(rotated)")
            let next = try member("id", of: rotated.1)
            #expect(try await a.send("DELETE", "/v1/keys/\(next)", key: operatorKey).0 == 204)
            #expect(try await b.send("DELETE", "/v1/keys/\(id)", key: operatorKey).0 == 204)
        }
        for node in [a, b] { await node.stop() }
    }

    @Test("an application and an endpoint of Svix's API that one makes with PUT are changed by the PUT of the other")
    func svixPut() async throws {
        let memory = MemoryStore()
        let (a, b) = (try Node(memory), try Node(memory))
        for number in 1...20 {
            let app = "/api/v1/app/app-\(number)"
            let endpoint = #"{"url":"http://127.0.0.1:9/\#(number)"}"#
            var statuses: [Int] = []
            for node in [a, b] {
                statuses.append(try await node.send("PUT", app, key: operatorKey, body: #"{"name":"one"}"#).0)
            }
            for node in [b, a] {
                statuses.append(try await node.send("PUT", app + "/endpoint/e", key: operatorKey, body: endpoint).0)
            }
            #expect(statuses == [201, 200, 201, 200])
        }
        for node in [a, b] { await node.stop() }
    }

    @Test("a request that waits for what others changed is refused if that ends its key")
    func revokedElsewhere() async throws {
        let memory = MemoryStore()
        let (a, b) = (try Node(memory), try Node(memory))
        for _ in 1...20 {
            let made = try await a.send("POST", "/v1/keys", key: operatorKey, body: #"{"name":"k","scopes":["read"]}"#)
            let (key, id) = (try member("key", of: made.1), try member("id", of: made.1))
            #expect(try await b.send("GET", "/v1/delegates/none", key: key).0 == 404)
            #expect(try await a.send("DELETE", "/v1/keys/\(id)", key: operatorKey).0 == 204)
            // Whether the other one has read of it yet or not.
            #expect(try await b.send("GET", "/v1/delegates/none", key: key).0 == 401)
        }
        for node in [a, b] { await node.stop() }
    }

    @Test("a session that one makes is known to the other at once, to be shown and to be ended")
    func sessions() async throws {
        let memory = MemoryStore()
        let (a, b) = (try Node(memory), try Node(memory))
        for _ in 1...10 {
            let cookie = try await a.signIn(operatorKey)
            let shown = try await b.send("GET", "/v1/session", cookie: cookie)
            #expect(shown.1.contains(#""signed_in":true"#), "\(shown)")
            let other = try await a.signIn(operatorKey)
            #expect(try await b.send("DELETE", "/v1/session", cookie: other).0 == 204)
            // The other one hears of the end; the time limit of the suite ends the wait.
            while try await a.send("GET", "/v1/session", cookie: other).1.contains(#""signed_in":true"#) {}
        }
        for node in [a, b] { await node.stop() }
    }

    @Test("while the store does not respond, readyz and reads get 503, and metrics are those of the process")
    func silentStore() async throws {
        let node = try Node(MemoryStore())
        let gate = Flag()
        defer { gate.set() }
        // All threads that read wait for the store.
        for _ in 1...64 {
            #expect(node.hub.read(app: nil) { _ in try? blockUntil("the store responds") { gate.isSet } })
        }
        #expect(try await node.send("GET", "/readyz", key: operatorKey).0 == 503)
        let read = try await node.send("GET", "/v1/events", key: operatorKey)
        #expect(read.0 == 503, "\(read)")
        let metrics = try await node.send("GET", "/metrics", key: operatorKey)
        #expect(metrics.1.contains("\nherald_delivery_permitted ") && !metrics.1.contains("\nherald_leases "))
        #expect(try await node.send("GET", "/healthz", key: operatorKey).0 == 200)
        gate.set()
        while try await node.send("GET", "/v1/events", key: operatorKey).0 == 503 {}
        #expect(try await node.send("GET", "/readyz", key: operatorKey).0 == 200)
        await node.stop()
    }

    @Test("a change whose request was refused because the store did not respond in time is not made later")
    func lateChanges() async throws {
        let memory = MemoryStore()
        let (a, b) = (try Node(memory), try Node(memory))
        let made = try await a.send(
            "POST", "/v1/delegates", key: operatorKey, body: #"{"url":"http://127.0.0.1:9/","events":["b"]}"#)
        let id = try member("id", of: made.1)
        #expect(try await a.send("POST", "/v1/events", key: operatorKey, body: #"{"type":"b"}"#).0 == 202)
        let gate = Flag()
        defer { gate.set() }
        // The writer waits for the store, and all threads that read.
        let isBlocked = Flag()
        let isTaken = a.hub.catchUp { _ in
            isBlocked.set()
            _ = try? blockUntil("the store responds") { gate.isSet }
        }
        #expect(isTaken)
        try await eventually("the writer waits") { isBlocked.isSet }
        for _ in 1...64 {
            #expect(a.hub.read(app: nil) { _ in try? blockUntil("the store responds") { gate.isSet } })
        }
        // Of a key that another process has made, and this one has not read yet.
        let key = try member(
            "key",
            of: try await b.send("POST", "/v1/keys", key: operatorKey, body: #"{"name":"k","scopes":["publish"]}"#).1)
        async let publication = a.send("POST", "/v1/events", key: key, body: #"{"type":"a"}"#)
        async let replay = a.send(
            "POST", "/v1/delegates/\(id)/replay", key: operatorKey, body: #"{"from":"earliest"}"#)
        for refused in [try await publication, try await replay] {
            #expect(refused.0 == 503 && refused.1.contains("Nothing was done"), "\(refused)")
        }
        gate.set()
        // What waited before has run by then.
        while try await a.send("GET", "/v1/events", key: operatorKey).0 == 503 {}
        #expect(try await a.send("POST", "/v1/events", key: key, body: #"{"type":"c"}"#).0 == 202)
        let log = try await a.send("GET", "/v1/events", key: operatorKey)
        #expect(log.1.contains(#""type":"c""#) && !log.1.contains(#""type":"a""#), "\(log)")
        let replays = try await a.send("GET", "/v1/delegates/\(id)/replays", key: operatorKey)
        #expect(replays.1.contains(#""data":[]"#), "\(replays)")
        for node in [a, b] { await node.stop() }
    }

    @Test("while the store has not responded for seconds, requests get no access, except those for metrics")
    func metricsOfSilentStore() async throws {
        let clock = ManualClock()
        let node = try Node(MemoryStore(), clock: clock.clock)
        let (isBlocked, gate) = (Flag(), Flag())
        defer { gate.set() }
        // The writer waits for the store.
        let isTaken = node.hub.catchUp { _ in
            isBlocked.set()
            _ = try? blockUntil("the store responds") { gate.isSet }
        }
        #expect(isTaken)
        try await eventually("the writer waits") { isBlocked.isSet }
        clock.advance(seconds: 6)
        #expect(try await node.send("GET", "/v1/delegates", key: operatorKey).0 == 503)
        let metrics = try await node.send("GET", "/metrics", key: operatorKey)
        #expect(metrics.0 == 200 && metrics.1.contains("\nherald_storage_works 0\n"), "\(metrics)")
        gate.set()
        await node.stop()
    }

    @Test("metrics for which there is no reader lack those of the store, and count and report that")
    func unreadMetrics() async throws {
        // Its clock stands still, so the hub reads nothing for itself after its start.
        let node = try Node(UnreadStore(), clock: ManualClock().clock)
        for _ in 1...20 {
            let metrics = try await node.send("GET", "/metrics", key: operatorKey)
            #expect(metrics.0 == 200 && !metrics.1.contains("\nherald_leases "), "\(metrics)")
        }
        #expect(node.hub.storage.failedReads >= 20)
        await node.stop()
    }

    @Test("an erasure that is refused after it has removed scheduled events says so, and is in the audit log")
    func refusedErasure() async throws {
        let node = try Node(MemoryStore())
        let time = Timestamp(milliseconds: Clock.system.wall() + 3_600_000)
        let posted = try await node.send(
            "POST", "/v1/events", key: operatorKey,
            body: #"{"type":"a","id":"e","subject":"s","deliver_at":"\#(time)"}"#)
        #expect(posted.0 == 202, "\(posted)")
        let (gate, blocked) = (Flag(), Counter())
        defer { gate.set() }
        let block: @Sendable (Result<any StoreReader, StoreError>) -> Void = { _ in
            blocked.next()
            _ = try? blockUntil("the reads may end") { gate.isSet }
        }
        let threads = Hub.Configuration().readers
        for _ in 0..<threads { #expect(node.hub.read(app: nil, block)) }
        try await eventually("all threads read") { blocked.value == threads }
        while node.hub.read(app: nil, block) {}
        let refused = try await node.send("DELETE", "/v1/subjects/s", key: operatorKey)
        #expect(refused.0 == 503 && refused.1.contains("A part of the data of the subject is erased."), "\(refused)")
        gate.set()
        var list = try await node.send("GET", "/v1/events?state=scheduled", key: operatorKey)
        while list.0 == 503 { list = try await node.send("GET", "/v1/events?state=scheduled", key: operatorKey) }
        #expect(list.1.contains(#""data":[]"#), "\(list)")
        let log = try await node.send("GET", "/v1/audit", key: operatorKey)
        #expect(log.1.contains("DELETE /v1/subjects/{subject}"), "\(log)")
        await node.stop()
    }

    @Test("a key that is revoked between the headers and the body of a request does nothing")
    func revokedMeanwhile() async throws {
        let node = try Node(MemoryStore())
        let made = try await node.send(
            "POST", "/v1/keys", key: operatorKey, body: #"{"name":"k","scopes":["publish"]}"#)
        let (key, id) = (try member("key", of: made.1), try member("id", of: made.1))
        let (isAdmitted, isRevoked) = (Flag(), Flag())
        async let status = RawHTTP.onThread { [port = node.server.port] in
            let client = try RawHTTPClient(port: port)
            let body = #"{"type":"a"}"#
            // `Expect` makes the server say when it has authorized the header section.
            client.send(
                "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Authorization: Bearer \(key)\r\nExpect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            )
            _ = try client.read(until: "\r\n\r\n")
            isAdmitted.set()
            try blockUntil("the key is revoked") { isRevoked.isSet }
            client.send(body)
            return try client.readResponse()?.status
        }
        defer { isRevoked.set() }
        try await eventually("the header section is authorized") { isAdmitted.isSet }
        #expect(try await node.send("DELETE", "/v1/keys/\(id)", key: operatorKey).0 == 204)
        isRevoked.set()
        let found = try await status
        #expect(found == 401)
        #expect(node.hub.head == 0)
        await node.stop()
    }
}
