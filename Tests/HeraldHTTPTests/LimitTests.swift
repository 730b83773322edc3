import Glibc
import HeraldTestSupport
import Synchronization
import Testing

@testable import HeraldHTTP

@Suite("What is bounded", .timeLimit(.minutes(20)))
struct LimitTests {
    @Test("a body that is declared too large gets 413 before it is sent, and the connection closes")
    func announcedTooLarge() async throws {
        try await Fixture.converse(with(\.maxBodyBytes, 100)) { fixture, client in
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n")
            #expect(try client.readResponse()?.status == 413)
            #expect(try client.readToEnd().isEmpty)
            let exact = try fixture.client(sending: post("/echo", String(repeating: "x", count: 100)))
            #expect(try exact.readResponse()?.body.count == 100)
        }
    }

    @Test("a client that sends a whole large body can still read its 413")
    func largeBodySent() async throws {
        try await Fixture.converse { _, client throws in
            client.send(post("/echo", String(repeating: "x", count: 300_000)))
            #expect(try client.readResponse()?.status == 413)
        }
    }

    @Test("a chunked body that becomes too large gets 413, and the connection closes")
    func countedTooLarge() async throws {
        try await Fixture.converse(with(\.maxBodyBytes, 100)) { fixture, client throws in
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<11 { client.send("a\r\n0123456789\r\n") }
            client.send("0\r\n\r\n" + get("/next"))
            #expect(try client.readResponse()?.status == 413)
            #expect(try client.readToEnd().isEmpty)
            #expect(fixture.application.seen.isEmpty)
        }
    }

    @Test("an endless chunked body is cut off")
    func endlessBody() async throws {
        try await Fixture.converse(with(\.maxBodyBytes, 100)) { _, client in
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "1000\r\n" + String(repeating: "x", count: 0x1000) + "\r\n"
            for _ in 0..<10_000 where !client.send(chunk) { return }
            Issue.record("40 MB were taken")
        }
    }

    @Test(
        "large bodies that arrive slowly have a budget in common: beyond it 503, while small ones and a finished one go on"
    )
    func partialBodies() async throws {
        try await Fixture.run(with(\.maxPartialBytes, 1)) { fixture in
            // A body of the limit always fits.
            let first = try fixture.client(sending: "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 262144\r\n\r\n")
            first.send(String(repeating: "x", count: 250_000))
            let second = try fixture.client(sending: "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n")
            second.send(String(repeating: "x", count: 40_000))
            #expect(try second.readResponse()?.status == 503)
            let small = try fixture.client(sending: post("/echo", String(repeating: "x", count: 16_000)))
            #expect(try small.readResponse()?.body.count == 16_000)
            first.send(String(repeating: "x", count: 12_144))
            #expect(try first.readResponse()?.body.count == 262_144)
            let third = try fixture.client(sending: post("/echo", String(repeating: "x", count: 200_000)))
            #expect(try third.readResponse()?.body.count == 200_000)
        }
    }

    @Test("so have large responses that are not read, but not those to requests that change something")
    func unreadResponses() async throws {
        try await Fixture.run(with(\.maxPartialBytes, 1)) { fixture in
            let unread = try fixture.client(sending: get("/large"))
            var byte: UInt8 = 0
            #expect(recv(unread.descriptor, &byte, 1, Int32(MSG_PEEK)) == 1)
            let refused = try fixture.client(sending: get("/large"))
            #expect(try refused.readResponse()?.status == 503)
            let small = try fixture.client(sending: get("/x"))
            #expect(try small.readResponse()?.text == "/x")
            let changing = try fixture.client(sending: post("/large", "x"))
            #expect(try changing.readResponse()?.body.count == 32_000_000)
        }
    }

    @Test("one address leaves a part of that budget to others")
    func sharedBudget() async throws {
        try await Fixture.run(with(\.maxPartialBytes, 80_000_000)) { fixture in
            let unread = try fixture.client(sending: get("/large"))
            var byte: UInt8 = 0
            #expect(recv(unread.descriptor, &byte, 1, Int32(MSG_PEEK)) == 1)
            let refused = try fixture.client(sending: get("/large"))
            #expect(try refused.readResponse()?.status == 503)
            let other = try RawHTTPClient(port: fixture.server.port, source: 2, sending: get("/large"))
            #expect(try other.readResponse()?.body.count == 32_000_000)
        }
    }

    @Test("a body of exactly the limit arrives whole, in both forms")
    func largestBody() async throws {
        try await Fixture.run { fixture in
            let body = String(repeating: "0123456789abcdef", count: 262_144 / 16)
            let client = try fixture.client(sending: post("/echo", body))
            #expect(try client.readResponse()?.text == body)
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            client.send("40000\r\n\(body)\r\n0\r\n\r\n")
            #expect(try client.readResponse()?.text == body)
        }
    }

    @Test("a header section that is too large is refused, one just below the limit is not")
    func headSize() async throws {
        try await Fixture.run { fixture in
            let fields = try fixture.client(sending: get("/x", "X-Long: \(String(repeating: "x", count: 40_000))\r\n"))
            #expect(try fields.readToEnd().starts(with: Array("HTTP/1.1 431".utf8)))
            let target = try fixture.client(sending: get("/" + String(repeating: "x", count: 40_000)))
            #expect(try target.readToEnd().starts(with: Array("HTTP/1.1 414".utf8)))
            let allowed = try fixture.client()
            allowed.send(get("/header", "X-Test: \(String(repeating: "x", count: 6_000))\r\n"))
            #expect(try allowed.readResponse()?.body.count == 6_000)
        }
    }

    @Test("more than a hundred header fields are refused")
    func fieldCount() async throws {
        try await Fixture.run { fixture in
            let fields = (1...99).map { "X-\($0): \($0)\r\n" }.joined()
            let client = try fixture.client(sending: get("/x", fields))
            #expect(try client.readResponse()?.status == 200)
            client.send(get("/x", fields + "X-100: 1\r\n"))
            #expect(try client.readResponse()?.status == 431)
            #expect(try client.readToEnd().isEmpty)
        }
    }

    @Test("beyond the limit of its address a connection replaces an idle one")
    func replacement() async throws {
        try await Fixture.run(with(\.maxConnectionsPerAddress, 2)) { fixture in
            var clients: [RawHTTPClient] = []
            for _ in 0..<3 {
                let client = try fixture.client(sending: get("/x"))
                #expect(try client.readResponse()?.status == 200)
                clients.append(client)
            }
            #expect(try clients[0].readToEnd().isEmpty)
            clients[1].send(get("/x"))
            #expect(try clients[1].readResponse()?.status == 200)
            #expect(fixture.server.statistics.refusedByAddress == 0)
        }
    }

    @Test("while an address uses all its connections, further ones serve what has a reserve, and others get 503")
    func reserve() async throws {
        let reports = Mutex(0)
        let limits: @Sendable (inout HTTPServerConfiguration) -> Void = {
            $0.maxConnectionsPerAddress = 2
            $0.reportRefusals = { report in reports.withLock { $0 += report.count } }
        }
        try await Fixture.run(limits) { fixture in
            let busy = [try fixture.client(), try fixture.client()]
            for client in busy { client.send(post("/hold", "")) }
            try blockUntil("both wait") { fixture.application.heldCount == 2 }
            let monitor = try fixture.client(sending: get("/health") + get("/x"))
            #expect(try monitor.readResponse()?.text == "/health")
            let refused = try #require(try monitor.readResponse())
            #expect(refused.status == 503 && refused.header("retry-after") == "1")
            #expect(try monitor.readToEnd().isEmpty)
            // The reserve has an end, too.
            let more = try (0..<12).map { _ in try fixture.client() }
            for client in more { client.send(post("/hold", "")) }
            for client in more { #expect(try client.readResponse()?.status != 200) }
            try fixture.settle(try fixture.client())
            #expect(fixture.server.statistics.refusedByAddress > 0)
            #expect(reports.withLock { $0 } == 1, "one report in a minute")
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "done")) }
            for client in busy { #expect(try client.readResponse()?.text == "done") }
        }
    }

    @Test("a client that takes all it gets leaves connections for others, with any number of such clients")
    func shares() {
        for greedy in [1, 4, 40] {
            var shares = AddressShares(places: 255, factor: 2)
            let clients = (1...greedy).map { PeerAddress(high: 0, low: 0xffff_0000_0000 | UInt64($0)) }
            for _ in 0..<255 {
                for client in clients {
                    shares.add(client)
                    if shares.excess(of: client) > 0 { shares.remove(client) }
                }
            }
            #expect(shares.total < 255, "\(greedy)")
            let counts = clients.map { shares.count(of: $0) }
            #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 1)
            #expect((counts.min() ?? 0) >= (greedy == 40 ? 5 : 255 * 2 / (1 + 2 * greedy) - 2))
            for client in clients { while shares.count(of: client) > 0 { shares.remove(client) } }
            #expect(shares.total == 0)
        }
    }

    @Test(
        "half requests and long polls from a few addresses leave connections for others, whose kept connections stay",
        arguments: ["", "GET /x HTTP/1.1\r\nHost: a\r\nX", get("/hold")])
    func fewAddresses(start: String) async throws {
        let limits: @Sendable (inout HTTPServerConfiguration) -> Void = {
            $0.host = "127.0.0.1"
            $0.maxConnections = 64
            $0.maxConnectionsPerAddress = 200
        }
        try await Fixture.run(limits) { fixture in
            let kept = try fixture.client(sending: get("/kept"))
            #expect(try kept.readResponse()?.text == "/kept")
            var attackers: [RawHTTPClient] = []
            for number in 0..<240 {
                let attacker = try RawHTTPClient(port: fixture.server.port, source: UInt8(2 + number % 4))
                attacker.send(start)
                attackers.append(attacker)
            }
            // Time stands still, so no deadline of the attackers has passed.
            for _ in 0..<3 {
                let new = try fixture.client(sending: get("/new"))
                #expect(try new.readResponse()?.text == "/new")
            }
            kept.send(get("/kept"))
            #expect(try kept.readResponse()?.text == "/kept")
            #expect(fixture.server.statistics.openConnections < 64)
        }
    }

    @Test("the connections of an address are limited, and a closed one frees its slot")
    func perAddress() async throws {
        try await Fixture.run(with(\.maxConnectionsPerAddress, 2)) { fixture in
            let busy = [try fixture.client(), try fixture.client()]
            for client in busy { client.send(post("/hold", "")) }
            try blockUntil("both wait") { fixture.application.heldCount == 2 }
            let other = try fixture.client(sending: get("/x"))
            #expect(try other.readResponse()?.status == 503)
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "done")) }
            for client in busy { #expect(try client.readResponse()?.text == "done") }
            // The last search for a connection to replace was just now.
            fixture.advance(seconds: 1)
            let next = try fixture.client(sending: get("/x"))
            #expect(try next.readResponse()?.text == "/x")
        }
    }

    @Test("beyond the limit of connections a new one waits while all others are in use")
    func inTotal() async throws {
        try await Fixture.run(with(\.maxConnections, 2)) { fixture in
            let held = [try fixture.client(), try fixture.client()]
            for client in held { client.send(get("/hold")) }
            try blockUntil("both wait") { fixture.application.heldCount == 2 }
            let third = try fixture.client(sending: get("/third"))
            fixture.advance(seconds: 1)
            #expect(!fixture.application.seen.contains { $0.path == "/third" })
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "done")) }
            for client in held { #expect(try client.readResponse()?.text == "done") }
            fixture.advance(seconds: 1)
            #expect(try third.readResponse()?.text == "/third")
        }
    }

    @Test("when all connections are taken, idle or incomplete connections are closed for one with a request")
    func room() async throws {
        try await Fixture.run(with(\.maxConnections, 64)) { fixture in
            for start in [
                "", "GET /slow HTTP/1.1\r\nHost:", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1",
            ] {
                var clients: [RawHTTPClient] = []
                for _ in 0..<100 {
                    let client = try fixture.client(sending: start)
                    clients.append(client)
                }
                let asking = try RawHTTPClient(port: fixture.server.port, timeoutSeconds: 1, sending: get("/asking"))
                var answer: RawHTTPResponse?
                // Less than the time that anyone has.
                for _ in 0..<8 where answer == nil {
                    fixture.advance(seconds: 1)
                    answer = try? asking.readResponse()
                }
                #expect(answer?.text == "/asking", "\(start)")
                clients = []
            }
        }
    }

    @Test("a request that arrives together with the end of its connection gets a response, and the connection closes")
    func requestWithEnd() async throws {
        try await Fixture.run(with(\.maxConnectionsPerAddress, 200)) { fixture in
            var clients: [RawHTTPClient] = []
            for number in 0..<400 {
                let client = try RawHTTPClient(port: fixture.server.port, timeoutSeconds: 20)
                client.sendLast(get("/\(number)"))
                #expect(try client.readResponse()?.text == "/\(number)")
                #expect(try client.readToEnd().isEmpty)
                clients.append(client)
            }
        }
    }

    @Test("so does a later request of a connection, within a second of its response")
    func laterRequestWithEnd() async throws {
        try await Fixture.run { fixture in
            let client = try RawHTTPClient(port: fixture.server.port, timeoutSeconds: 20, sending: get("/1"))
            #expect(try client.readResponse()?.text == "/1")
            fixture.advance(seconds: 5)
            client.sendLast(get("/2") + get("/3"))
            #expect(try client.readResponse()?.text == "/2")
            #expect(try client.readResponse()?.text == "/3")
            try fixture.settle(try fixture.client())
            fixture.advance(seconds: 1)
            #expect(try client.readToEnd().isEmpty)
            #expect(fixture.server.statistics.expiredConnections == 0)
        }
    }

    @Test("a header section of any size up to the limit and beyond gets a response")
    func everyHeadSize() async throws {
        try await Fixture.run { fixture in
            var statuses: Set<Int> = []
            for size in stride(from: 6_000, to: 16_000, by: 61) {
                let client = try fixture.client()
                client.send(get("/x", "X-Long: \(String(repeating: "x", count: size))\r\n"))
                let status = try #require(try client.readResponse()).status
                #expect(status == (size < 8_008 ? 200 : 431) || (8_008...8_192).contains(size), "\(size)")
                statuses.insert(status)
            }
            #expect(statuses == [200, 431])
        }
    }

    @Test("neither many cookies nor many query items use up the memory for the response")
    func items() async throws {
        try await Fixture.run { fixture in
            for count in stride(from: 10, to: 2000, by: 97) {
                let client = try fixture.client()
                client.send(get("/x", "Cookie: \(String(repeating: "a=b; ", count: count))\r\n"))
                #expect([200, 431].contains(try #require(try client.readResponse()).status), "\(count)")
            }
            let client = try fixture.client(sending: get("/x?" + String(repeating: "a&", count: 2500)))
            #expect(try client.readResponse()?.text == "/x")
            #expect(fixture.application.seen.last?.query?.count == 5_000)
        }
    }

    @Test("beyond the limit of waiting requests one that may wait gets 503 with Retry-After, another is served")
    func waiting() async throws {
        try await Fixture.run(with(\.maxWaiting, 1)) { fixture in
            let first = try fixture.client(sending: get("/hold"))
            let second = try fixture.client()
            try blockUntil("the first one waits") {
                second.send(get("/health"))
                let answer = try second.readResponse()
                #expect(answer?.text == "/health")
                return fixture.server.statistics.waitingRequests > 0
            }
            second.send(get("/hold") + get("/health"))
            let refused = try #require(try second.readResponse())
            #expect(refused.status == 503)
            #expect(refused.header("retry-after") == "1")
            #expect(try second.readResponse()?.text == "/health")
            for responder in fixture.application.takeHeld() { responder.send(.text(200, "done")) }
            #expect(try first.readResponse()?.text == "done")
            #expect(fixture.server.statistics.waitingRequests == 0)
        }
    }
}
