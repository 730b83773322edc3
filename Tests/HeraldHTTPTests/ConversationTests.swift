import HeraldTestSupport
import Testing

@testable import HeraldHTTP

@Suite("What HTTP promises on a connection", .timeLimit(.minutes(20)))
struct ConversationTests {
    @Test("a connection is kept for the next request")
    func keepAlive() async throws {
        try await Fixture.converse { _, client in
            for index in 1...3 {
                client.send(get("/\(index)"))
                let response = try #require(try client.readResponse())
                #expect(response.status == 200)
                #expect(response.text == "/\(index)")
                #expect(response.header("date") != nil)
            }
        }
    }

    @Test("three pipelined GETs get three responses in order")
    func pipelining() async throws {
        try await Fixture.converse { _, client throws in
            client.send(get("/1") + get("/2") + get("/3"))
            for index in 1...3 { #expect(try client.readResponse()?.text == "/\(index)") }
        }
    }

    @Test("a pipelined GET after a POST is a separate request, also when the POST waits")
    func pipelinedPost() async throws {
        try await Fixture.converse { _, client throws in
            client.send(post("/echo", "body") + get("/2") + post("/thread", "x") + get("/4"))
            #expect(try client.readResponse()?.text == "body")
            #expect(try client.readResponse()?.text == "/2")
            #expect(try client.readResponse()?.text == "from elsewhere")
            #expect(try client.readResponse()?.text == "/4")
        }
    }

    @Test("the body of a GET is read to its end")
    func getWithBody() async throws {
        try await Fixture.converse { fixture, client throws in
            client.send(get("/1", "Content-Length: 3\r\n") + "abc" + get("/2"))
            #expect(try client.readResponse()?.text == "/1")
            #expect(try client.readResponse()?.text == "/2")
            #expect(fixture.application.seen.map(\.body) == [Array("abc".utf8), []])
        }
    }

    @Test("HEAD is handled like GET, without a body but with its length")
    func head() async throws {
        try await Fixture.converse { fixture, client in
            client.send("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n" + get("/2"))
            let response = try #require(try client.readResponse(isToHead: true))
            #expect(response.header("content-length") == "2")
            #expect(try client.readResponse()?.text == "/2")
            #expect(fixture.application.seen.first?.method == .head)
        }
    }

    @Test("a client that expects 100-continue gets it, then the response")
    func expectContinue() async throws {
        try await Fixture.converse { _, client throws in
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
            #expect(try client.readResponse()?.status == 100)
            client.send("abc")
            #expect(try client.readResponse()?.text == "abc")
        }
    }

    @Test("a refused request with Expect gets its response without 100, and is closed")
    func expectRefused() async throws {
        try await Fixture.run { fixture in
            let large = try fixture.client()
            large.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 300000\r\n\r\n")
            #expect(try large.readResponse()?.status == 413)
            #expect(try large.readToEnd().isEmpty)
            let refused = try fixture.client()
            refused.send("POST /refused HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
            #expect(try refused.readResponse()?.status == 405)
            #expect(try refused.readToEnd().isEmpty)
            #expect(fixture.application.seen.isEmpty)
        }
    }

    @Test("a request refused by its headers keeps the connection if there is no body")
    func refusedWithoutBody() async throws {
        try await Fixture.converse { _, client throws in
            client.send(get("/refused") + get("/2"))
            #expect(try client.readResponse()?.status == 405)
            #expect(try client.readResponse()?.text == "/2")
        }
    }

    @Test("bytes after a refused body are never parsed as a request", arguments: ["POST", "PUT", "PATCH", "DELETE"])
    func refusedBody(method: String) async throws {
        try await Fixture.converse { fixture, client throws in
            let smuggled = get("/smuggled")
            client.send(
                "\(method) /refused HTTP/1.1\r\nHost: a\r\nContent-Length: \(smuggled.utf8.count)\r\n\r\n\(smuggled)"
                    + get("/next"))
            #expect(try client.readResponse()?.status == 405)
            #expect(try client.readToEnd().isEmpty)
            #expect(fixture.application.seen.isEmpty)
        }
    }

    @Test("a chunked body arrives whole, and is the last on its connection")
    func chunked() async throws {
        try await Fixture.converse { fixture, client in
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            client.send("2\r\nde\r\n0\r\n\r\n" + get("/2"))
            let response = try client.readResponse()
            #expect(response?.text == "abcde")
            #expect(response?.header("connection") == "close")
            #expect(try client.readToEnd().isEmpty)
            #expect(fixture.application.seen.count == 1)
        }
    }

    @Test("HTTP/1.0 gets a response, with or without Host, and is closed")
    func http10() async throws {
        try await Fixture.converse { _, client throws in
            client.send("GET /1 HTTP/1.0\r\n\r\n")
            #expect(try client.readResponse()?.text == "/1")
            #expect(try client.readToEnd().isEmpty)
        }
    }

    @Test("path and query arrive as sent, header names in any case")
    func target() async throws {
        try await Fixture.converse { fixture, client throws in
            client.send(get("/a%2f..%2Fb%00/%zz?x=1%202&y?z&&"))
            #expect(try client.readResponse()?.text == "/a%2f..%2Fb%00/%zz")
            #expect(fixture.application.seen.first?.query == "x=1%202&y?z&&")
            client.send(get("/header", "x-tEST: v\r\n"))
            #expect(try client.readResponse()?.text == "v")
            client.send(get("/peer"))
            #expect(try client.readResponse()?.text == "127.0.0.1")
        }
    }

    @Test("a header value of a response can't start another line")
    func responseInjection() async throws {
        try await Fixture.converse { _, client in
            client.send(get("/injection") + get("/2"))
            let response = try #require(try client.readResponse())
            #expect(response.header("x-bad") == nil)
            #expect(response.header("x-evil") == nil)
            #expect(response.header("x-nul") == nil)
            #expect(response.header("x-good") == "b")
            #expect(response.text == "xy")
            #expect(try client.readResponse()?.text == "/2")
        }
    }
}
