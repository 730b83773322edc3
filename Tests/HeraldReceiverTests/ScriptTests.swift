import HeraldTestSupport
import Testing

@Suite("The receiver's script language", .timeLimit(.minutes(20)))
struct ScriptTests {
    /// The statuses, or what else becomes, of one request after the other: `-` for none.
    private func outcomes(
        _ targets: [String], json: String? = nil, otherwise: String? = nil, headers: [String] = []
    ) async throws -> [RawHTTPResponse?] {
        let replies = try ScriptedReplies(json: json.map { Array($0.utf8) }, otherwise: otherwise)
        let receiver = try Receiver(script: replies.reply)
        defer { receiver.close() }
        return try await RawHTTP.onThread {
            try targets.enumerated().map { index, target in
                let client = try RawHTTPClient(port: receiver.port)
                let header = index < headers.count ? headers[index] + "\r\n" : ""
                client.send("POST \(target) HTTP/1.1\r\nHost: x\r\n\(header)Content-Length: 4\r\n\r\nping")
                return try? client.readResponse()
            }
        }
    }

    @Test(
        "a path and a query define the response",
        arguments: [
            ("/", 200, ""), ("/hook/42?token=a", 200, ""), ("/status/503", 503, ""), ("/?status=503", 503, ""),
            ("/hook?status=404&token=a", 404, ""), ("/echo", 200, "ping"), ("/status/201/echo", 201, "ping"),
            ("/body/a%20b%2Fc", 200, "a b/c"), ("/x?body=a+b%21%zz", 200, "a b!%zz"), ("/size/3", 200, "xxx"),
            ("/delay/0.001/body/late", 200, "late"), ("/drip/1/body/slow", 200, "slow"),
        ])
    func answers(_ target: String, _ status: Int, _ body: String) async throws {
        let answer = try #require(try await outcomes([target])[0])
        #expect(answer.status == status)
        #expect(answer.text == body)
    }

    @Test("headers are added")
    func headers() async throws {
        let answer = try await outcomes(["/hook?status=429&retry-after=7&header=x-a:%20b&header=x-c:d:e"])[0]
        #expect(answer?.header("retry-after") == "7")
        #expect(answer?.header("x-a") == "b")
        #expect(answer?.header("x-c") == "d:e")
        let redirect = try await outcomes(["/redirect/http%3A%2F%2Fexample.com%2F", "/?status=308&redirect=/a"])
        #expect(redirect.map(\.?.status) == [302, 308])
        #expect(redirect[0]?.header("location") == "http://example.com/")
    }

    @Test("failures without a response", arguments: ["/close", "/reset", "/garbage", "/refuse"])
    func failures(_ target: String) async throws {
        #expect(try await outcomes([target])[0] == nil)
    }

    @Test("replies change with the number of the request, counted for each path")
    func sequences() async throws {
        let flaky = try await outcomes(["/flaky/2", "/flaky/2", "/flaky/2?x", "/flaky/2", "/flaky/2"])
        #expect(flaky.map(\.?.status) == [503, 503, 503, 200, 200])
        let steps = "/x?status=500&times=2&then=429&retry-after=1&then=204"
        #expect(try await outcomes(Array(repeating: steps, count: 5)).map(\.?.status) == [500, 500, 429, 204, 204])
        let perEvent = try await outcomes(
            Array(repeating: "/flaky/1/per/webhook-id", count: 4),
            headers: ["webhook-id: a", "webhook-id: b", "webhook-id: a", "webhook-id: b"])
        #expect(perEvent.map(\.?.status) == [503, 503, 200, 200])
    }

    @Test("a stale connection closes when its second request arrives")
    func stale() async throws {
        let receiver = try Receiver(script: try ScriptedReplies().reply)
        defer { receiver.close() }
        let rest = try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: receiver.port, sending: "GET /stale HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.readResponse()?.status == 200)
            client.send("GET /stale HTTP/1.1\r\nHost: x\r\n\r\n")
            return try client.readToEnd()
        }
        #expect(rest.isEmpty)
        #expect(receiver.requests.map(\.position) == [1, 2])
    }

    @Test("a truncated reply declares more than it sends")
    func cut() async throws {
        let receiver = try Receiver(script: try ScriptedReplies().reply)
        defer { receiver.close() }
        let text = try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: receiver.port)
            client.send("GET /cut/3/body/abcdef HTTP/1.1\r\nHost: x\r\n\r\n")
            return String(decoding: try client.readToEnd(), as: UTF8.self)
        }
        #expect(text.contains("content-length: 6\r\n"))
        #expect(text.hasSuffix("\r\n\r\nabc"))
    }

    @Test(
        "an invalid word gets an error with the valid ones",
        arguments: ["/status/abc", "/status", "/echo/nothing", "/?times=0"])
    func mistakes(_ target: String) async throws {
        let answer = try await outcomes([target])[0]
        #expect(answer?.status == 400)
        #expect(answer?.text.isEmpty == false)
    }

    @Test("a script in JSON names paths; * and a query apply to all others")
    func json() async throws {
        let script = """
            {"/orders": [{"status": 503, "times": 2}, {"status": 201, "header": ["x-a: 1", "x-b: 2"], "gzip": false}],
             "/echo": {"status": 410}, "*": {"echo": true}}
            """
        let answers = try await outcomes(
            ["/orders?a", "/orders?a", "/orders?a", "/echo", "/other", "/status/404"], json: script)
        #expect(answers.map(\.?.status) == [503, 503, 201, 410, 200, 404])
        #expect(answers[2]?.header("x-b") == "2")
        #expect(answers[2]?.header("content-encoding") == nil)
        #expect(answers[4]?.text == "ping")
        #expect(try await outcomes(["/a"], json: script, otherwise: "status=500")[0]?.status == 500)
    }

    @Test(
        "an invalid script is refused with its errors",
        arguments: [
            ("[]", "paths"), ("{", "not JSON"), (#"{"orders": {}}"#, "orders"), (#"{"/a": 1}"#, "/a"),
            (#"{"/a": {"stauts": 1}}"#, "stauts"), (#"{"/a": {"status": 1}}"#, "200 to 599"), (#"{"/a": []}"#, "/a"),
            (#"{"/a": {"status": null}}"#, "needs a value"), (#"{"/a": {"header": "a: \u0000"}}"#, "header"),
        ])
    func refused(_ json: String, _ hint: String) {
        let error = #expect(throws: ScriptError.self) { try ScriptedReplies(json: Array(json.utf8)) }
        #expect(error?.description.contains(hint) == true, "\(error?.description ?? "")")
    }

    @Test("a compressed body can be read by gzip", arguments: ["", "a", "abcabc", "aaaa", "/"])
    func compressed(_ seed: String) async throws {
        for text in [seed, String(repeating: seed, count: 1000), seed + String(repeating: "\u{e9}", count: 300)] {
            let replies = try ScriptedReplies()
            let receiver = try Receiver(script: replies.reply)
            defer { receiver.close() }
            let curl = try await ChildProcess.run(
                "curl",
                ["-sS", "--compressed", "-H", "content-type:", "--data-binary", "@-", receiver.url("/echo/gzip")],
                input: Array(text.utf8))
            #expect(curl.text == text)
        }
        let plain = try await outcomes(["/size/100000/gzip"])[0]
        #expect(plain?.header("content-encoding") == "gzip")
        #expect((plain?.body.count ?? .max) < 1000)
    }

    @Test("OPTIONS gets the CloudEvents handshake, as requested or as scripted")
    func handshake() async throws {
        let receiver = try Receiver(script: try ScriptedReplies().reply)
        defer { receiver.close() }
        func ask(_ target: String, _ headers: String = "") async throws -> RawHTTPResponse? {
            try await RawHTTP.response(
                to: "OPTIONS \(target) HTTP/1.1\r\nHost: x\r\n\(headers)\r\n", port: receiver.port)
        }
        let asked = "WebHook-Request-Origin: me.example\r\nWebHook-Request-Rate: 120\r\n"
        let granted = try await ask("/status/503", asked)
        #expect(granted?.status == 200)
        #expect(granted?.header("webhook-allowed-origin") == "me.example")
        #expect(granted?.header("webhook-allowed-rate") == "120")
        #expect(granted?.header("allow") == "POST, OPTIONS")
        let told = try await ask("/?allow-origin=*&allow-rate=60", asked)
        #expect(told?.header("webhook-allowed-origin") == "*")
        #expect(told?.header("webhook-allowed-rate") == "60")
        for (target, headers) in [("/allow-origin/none", asked), ("/", "")] {
            let refused = try await ask(target, headers)
            #expect(refused?.status == 200)
            #expect(refused?.header("webhook-allowed-origin") == nil)
        }
    }
}
