import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Conventions of every response", .timeLimit(.minutes(20)), .serialized)
struct ConventionTests {
    @Test("every response has a request id; a problem has the format of RFC 9457, and repeats the id")
    func requestIDs() async throws {
        let herald = try await HeraldProcess.start()
        let good = try await herald.get("/v1/events")
        let bad = try await herald.get("/v1/nothing")
        let id = try #require(bad.header("request-id"))
        #expect(good.header("request-id")?.hasPrefix("req_") == true)
        #expect(good.header("request-id") != id)
        #expect(bad.string("request_id") == id)
        #expect(good.header("cache-control") == "no-store")
        #expect(good.header("content-type") == "application/json")
        #expect(bad.status == 404 && bad.integer("status") == 404 && bad.problem == "not-found")
        #expect(bad.string("title")?.isEmpty == false && bad.string("detail")?.isEmpty == false)
    }

    @Test("a body that is not strict JSON gets 400")
    func malformedJSON() async throws {
        let herald = try await HeraldProcess.start()
        for body in [
            "", "{", "{\"type\":\"a\",}", "{\"type\":\"a\",\"type\":\"b\"}", "{} {}", "\u{FEFF}{}", "{\"n\":NaN}",
        ] {
            let answer = try await herald.post("/v1/events", body)
            #expect(answer.status == 400 && answer.problem == "malformed-json", "\(body): \(answer.text)")
        }
    }

    @Test("all invalid fields of a registration are reported at once, and nothing is registered")
    func allErrors() async throws {
        let herald = try await HeraldProcess.start()
        let answer = try await herald.post(
            "/v1/delegates",
            """
            {"url": "http://127.0.0.1:9/", "events": ["Not Valid", "ok.fine", ""], "max_in_flight": 0, "timeout_seconds": 61,
             "retry_schedule": [1, -1], "headers": {"Webhook-Id": "x", "X-Fine": "y"}, "metadata": {"k": 1}, "secret": "whsec_"}
            """)
        #expect(answer.status == 422)
        #expect(answer.problem == "validation")
        #expect(
            Set(answer.errors) == [
                "/events/0", "/events/2", "/max_in_flight", "/timeout_seconds", "/retry_schedule/1",
                "/headers/Webhook-Id",
                "/metadata/k", "/secret",
            ])
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.isEmpty)
    }

    @Test("an unknown or read-only field is refused, and reported by pointer, also with special characters in its name")
    func unknownFields() async throws {
        let herald = try await HeraldProcess.start()
        for name in ["typo", "id", "status", "lag"] {
            let answer = try await herald.post("/v1/delegates", #"{"url": "http://127.0.0.1:9/", "\#(name)": null}"#)
            #expect(answer.status == 422 && answer.errors == ["/" + name], "\(name): \(answer.text)")
        }
        let event = try await herald.post("/v1/events", #"[{"type": "a"}, {"type": "b", "a/b~c": 1}]"#)
        #expect(event.status == 422 && event.errors == ["/1/a~1b~0c"], "\(event.text)")
    }

    @Test("an unknown parameter is refused, and nothing is changed")
    func unbuiltFeatures() async throws {
        let herald = try await HeraldProcess.start()
        _ = try await herald.register("http://127.0.0.1:9/")
        #expect(try await herald.get("/v1/app-state?since=now").errors == ["since"])
        #expect(try await herald.send("DELETE", "/v1/delegates?all=true&kind=webhook").errors == ["kind"])
        #expect(try await herald.get("/v1/events").data.isEmpty)
        #expect(try await herald.get("/v1/delegates?kind=webhook").data.count == 1)
    }

    @Test("an unknown, repeated or invalid query parameter is named")
    func parameters() async throws {
        let herald = try await HeraldProcess.start()
        for (query, name) in [
            ("typ=a", "typ"), ("limit=0", "limit"), ("limit=201", "limit"), ("limit=1&limit=2", "limit"),
            ("cursor=x", "cursor"), ("since=yesterday", "since"), ("type=no%20type", "type"),
        ] {
            let answer = try await herald.get("/v1/events?" + query)
            #expect(answer.status == 422, "\(query)")
            #expect(answer.errors == [name], "\(query)")
        }
        #expect(try await herald.get("/v1/events?typo=1&type=a&type=b&other=2").errors == ["typo", "type", "other"])
        #expect(try await herald.get("/v1/delegates?cursor=garbage").errors == ["cursor"])
    }

    @Test("HEAD responds like GET without a body")
    func head() async throws {
        let herald = try await HeraldProcess.start()
        let head = try await herald.send("HEAD", "/healthz")
        let get = try await herald.get("/healthz")
        #expect(head.status == 200)
        #expect(head.body.isEmpty)
        #expect(head.header("content-length") == get.header("content-length"))
        #expect(head.header("content-type") == get.header("content-type"))
    }

    @Test("OPTIONS lists the methods, and other methods get 405 with this list")
    func methods() async throws {
        let herald = try await HeraldProcess.start()
        for (path, allowed) in [
            ("/v1/events", "POST, GET, HEAD, OPTIONS"), ("/v1/delegates/x", "GET, PATCH, DELETE, HEAD, OPTIONS"),
            ("/healthz", "GET, HEAD, OPTIONS"), ("/v1/delegates/x/pause", "POST, OPTIONS"),
            ("/v1/app-state", "GET, PUT, HEAD, OPTIONS"),
        ] {
            let options = try await herald.send("OPTIONS", path)
            #expect(options.status == 204)
            #expect(options.header("allow") == allowed)
        }
        let refused = try await herald.send("DELETE", "/v1/events")
        #expect(refused.status == 405)
        #expect(refused.problem == "method-not-allowed")
        #expect(refused.header("allow") == "POST, GET, HEAD, OPTIONS")
        #expect(try await herald.send("BREW", "/v1/events").status == 501)
        #expect(try await herald.send("OPTIONS", "/v1/nothing").status == 404)
    }

    @Test("an Accept header without JSON gets 406, and a body that is not declared as JSON 415")
    func negotiation() async throws {
        let herald = try await HeraldProcess.start()
        for accept in ["text/html", "application/json;q=0", "application/json; q=0.000", "image/*"] {
            let answer = try await herald.get("/v1/events", ["Accept": accept])
            #expect(answer.status == 406, "\(accept)")
            #expect(answer.problem == "not-acceptable")
        }
        for accept in ["*/*", "text/html, application/*;q=0.1", "application/json; charset=utf-8"] {
            #expect(try await herald.get("/v1/events", ["Accept": accept]).status == 200, "\(accept)")
        }
        let lines = "Accept: text/html\r\nAccept: application/json;q=0.01\r\n"
        let request = "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\(lines)\r\n"
        #expect(try await herald.sendRaw(request).status == 200, "several lines are one list")
        for type in ["text/plain", "application/x-www-form-urlencoded", ""] {
            let answer = try await herald.post("/v1/events", #"{"type": "a"}"#, ["Content-Type": type])
            #expect(answer.status == 415, "\(type)")
        }
        #expect(
            try await herald.post("/v1/events", #"{"type": "a"}"#, ["Content-Type": "Application/JSON; charset=utf-8"])
                .status == 202)
    }

    @Test("a body above the limit gets 413, with or without Content-Length; a body at the limit is accepted")
    func bodySize() async throws {
        let herald = try await HeraldProcess.start(["--max-body", "2048"])
        func event(_ bytes: Int) -> String {
            let head = #"{"type": "a", "data": ""#
            return head + String(repeating: "x", count: bytes - head.utf8.count - 2) + "\"}"
        }
        #expect(try await herald.post("/v1/events", event(2048)).status == 202)
        let told = try await herald.post("/v1/events", event(2049))
        #expect(told.status == 413)
        #expect(told.problem == "body-too-large")
        #expect(told.header("connection")?.lowercased() == "close")
        let chunk = String(repeating: " ", count: 0x900)
        let chunked = try await herald.sendRaw(
            "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n900\r\n\(chunk)\r\n0\r\n\r\n")
        #expect(chunked.status == 413)
        #expect(try await herald.get("/v1/events").data.count == 1)
    }

    @Test("no response may be sniffed or cached: successes, problems and responses of the HTTP library")
    func safeHeaders() async throws {
        let herald = try await HeraldProcess.start()
        let host = "Host: localhost\r\n"
        let requests = [
            ("GET /v1/events HTTP/1.1\r\n\(host)\r\n", 200),
            ("GET /v1/nothing HTTP/1.1\r\n\(host)\r\n", 404),
            ("PUT /v1/events HTTP/1.1\r\n\(host)\r\n", 405),
            ("GET /v1/events HTTP/1.1\r\n\(host)\(host)\r\n", 400),
            ("GET /v1/events HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        ]
        for (request, status) in requests {
            let answer = try await herald.sendRaw(request)
            #expect(answer.status == status, "\(request)")
            #expect(answer.header("x-content-type-options") == "nosniff", "\(request)")
            #expect(answer.header("cache-control") == "no-store", "\(request)")
            #expect(answer.header("content-type")?.hasPrefix("application/") == true, "\(request)")
        }
    }

    @Test("an unknown Host gets 421")
    func host() async throws {
        let herald = try await HeraldProcess.start()
        let answer = try await herald.get("/healthz", ["Host": "evil.example"])
        #expect(answer.status == 421)
        #expect(answer.problem == "misdirected-request")
        for host in ["localhost", "127.0.0.1:1", "LOCALHOST:80", "[::1]:8080"] {
            #expect(try await herald.get("/healthz", ["Host": host]).status == 200, "\(host)")
        }
    }

    @Test("a server on another loopback address serves requests for it")
    func otherLoopback() async throws {
        let herald = try await HeraldProcess.start(listen: "127.0.0.2:0")
        let url = "http://127.0.0.2:\(herald.port)/healthz"
        let answer = try await ChildProcess.run("curl", ["-sS", "-w", "%{http_code}", url])
        #expect(answer.text.hasSuffix("200"), "\(answer.text)")
        let health = try await Binary.run(["health", "--listen", "127.0.0.2:\(herald.port)"])
        #expect(health.end == .exited(0), "\(health.text)")
    }

    @Test("OPTIONS * names the methods of the server, and a URI as a target is served by its path")
    func requestTargets() async throws {
        let herald = try await HeraldProcess.start()
        let star = try await herald.sendRaw("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(star.status == 204 && star.header("allow")?.contains("PATCH") == true)
        let uri = try await herald.sendRaw("GET http://localhost:1/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(uri.status == 200)
        let foreign = try await herald.sendRaw("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(foreign.status == 421)
    }

    @Test("of a target or an Accept with thousands of parts only the first are read, and headers have a limit")
    func longHeads() async throws {
        let herald = try await HeraldProcess.start()
        // A malformed escape would be reported, were it read.
        let names = Array(repeating: "a", count: 100).joined(separator: "&")
        let query = try await herald.get("/v1/events?\(names)&%zz")
        #expect(query.status == 422 && query.errors.count == 100, "\(query.text)")
        let path = "/v1/delegates" + String(repeating: "/a", count: 1_000)
        #expect(try await herald.get(path + "/%zz").status == 404)
        let large = try await herald.get("/healthz", ["X-Large": String(repeating: "x", count: 40_000)])
        #expect(large.status == 431 && large.text.contains("8192 bytes"), "\(large.text)")
        for (count, status) in [(99, 200), (100, 406)] {
            let accept = String(repeating: "a/b, ", count: count) + "application/json"
            #expect(try await herald.get("/v1/session", ["Accept": accept]).status == status)
        }
    }

    @Test("an ambiguous path gets 400, an invalid percent-escape is reported as such, a similar path gets 404")
    func doubtfulPaths() async throws {
        let herald = try await HeraldProcess.start()
        for (path, detail) in [
            ("/v1/delegates/%2e%2e", ""), ("/v1/delegates/..", ""), ("/v1/delegates/a%2fb", ""),
            ("/v1/delegates/a%5Cb", ""), ("/v1/delegates/%ff", ""), ("/v1/events?type=%zz", ""),
            ("/v1/delegates/a%00b", "The path has %00, the character NUL"),
            ("/v1/events?type=a%00b", "The query has %00, the character NUL"),
            ("/v1/delegates/a%zz", "The path has a % without two hexadecimal digits"),
            ("/v1/events?type=%ff", "The query is not UTF-8"),
        ] {
            let answer = try await herald.get(path)
            #expect(answer.status == 400 && answer.string("detail")?.hasPrefix(detail) == true, "\(answer.text)")
        }
        for path in [
            "/v1/events/", "//v1/events", "/V1/events", "/v1/delegates//pause", "/v1/%65vents", "//", "/v1",
        ] {
            #expect(try await herald.get(path).status == 404, "\(path)")
        }
    }

    @Test("health, readiness, metrics and the API description are served")
    func system() async throws {
        let herald = try await HeraldProcess.start()
        #expect(try await herald.get("/healthz").string("status") == "ok")
        #expect(try await herald.get("/readyz").string("status") == "ready")
        let metrics = try await herald.get("/metrics")
        #expect(metrics.header("content-type") == "text/plain; version=0.0.4; charset=utf-8")
        #expect(metrics.text.contains("# TYPE herald_events_published_total counter"))
        #expect(try await herald.get("/openapi.yaml").text.contains("\nopenapi: 3."))
        #expect(try await herald.get("/openapi.json").string("openapi")?.hasPrefix("3.") == true)
        let problem = try await herald.post("/v1/events", "{}")
        let page = try await herald.get(try #require(problem.string("type")))
        #expect(page.status == 200 && page.text.hasPrefix("\(problem.status): "), "\(page.text)")
        #expect(try await herald.get("/problems/none").status == 404)
    }

    @Test("a body with a content coding is refused, and the response says what is accepted")
    func codings() async throws {
        let herald = try await HeraldProcess.start()
        for (method, path, coding) in [
            ("POST", "/v1/events", "gzip"), ("POST", "/v1/events", "aes128gcm"), ("POST", "/v1/events", "br"),
            ("PUT", "/v1/event-types/a", "gzip, identity"), ("PATCH", "/v1/delegates/x", "gzip"),
        ] {
            let refused = try await herald.send(method, path, #"{"type": "a"}"#, ["Content-Encoding": coding])
            #expect(refused.status == 415 && refused.header("accept-encoding") == "identity", "\(method) \(coding)")
        }
        let plain = try await herald.post("/v1/events", #"{"type": "a"}"#, ["Content-Encoding": "Identity"])
        #expect(plain.status == 202)
        #expect(try await herald.get("/v1/events").data.count == 1)
    }

    @Test("a response about a content type says which ones are accepted")
    func types() async throws {
        let herald = try await HeraldProcess.start()
        let text = ["Content-Type": "text/plain"]
        let patched = try await herald.send("PATCH", "/v1/delegates/x", "{}", text)
        #expect(patched.status == 415)
        #expect(patched.header("accept-patch") == "application/json, application/merge-patch+json")
        let posted = try await herald.post("/v1/events", "{}", text)
        #expect(posted.status == 415)
        #expect(posted.header("accept")?.contains("application/cloudevents+json") == true)
    }

    @Test("If-Match is a list, and If-None-Match: * changes only what does not exist")
    func conditions() async throws {
        let herald = try await HeraldProcess.start()
        func put(_ path: String, _ body: String, _ headers: [String: String]) async throws -> Int {
            try await herald.send("PUT", path, body, headers).status
        }
        let type = "/v1/event-types/a"
        #expect(try await put(type, "{}", ["If-Match": "*"]) == 412)
        #expect(try await herald.send("DELETE", type, nil, ["If-Match": "*"]).status == 404)
        #expect(try await put(type, "{}", ["If-None-Match": "*"]) == 201)
        #expect(try await put(type, "{}", ["If-None-Match": "*"]) == 412)
        let first = try #require(try await herald.get(type).header("etag"))
        #expect(try await put(type, "{}", ["If-Match": #""7", "# + first]) == 200)
        let second = try #require(try await herald.get(type).header("etag"))
        #expect(try await put(type, "{}", ["If-Match": #""7", W/\#(second), "x""#]) == 412)
        #expect(try await put(type, "{}", ["If-Match": "\"7\",\t" + second]) == 200)
        #expect(try await put(type, "{}", ["If-Match": "*"]) == 200)
        let user = "/v1/auth/42"
        let login = #"{"status": "logged_in"}"#
        #expect(try await put(user, login, ["If-None-Match": "*"]) < 300)
        #expect(try await put(user, login, ["If-None-Match": "*"]) == 412)
        #expect(try await put("/v1/app-state", #"{"state": 1}"#, ["If-Match": #""unknown", "x""#]) < 300)
        #expect(try await put("/v1/app-state", #"{"state": 2}"#, ["If-None-Match": "*"]) == 412)
    }

    @Test("tracestate travels with traceparent, and not without it")
    func traces() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        _ = try await herald.register(receiver.url("/"), #""ordering": "strict""#)
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        for trace in [["traceparent": parent], [:], ["traceparent": "no"]] {
            let headers = trace.merging(["tracestate": "a=1,b=2"]) { $1 }
            #expect(try await herald.post("/v1/events", #"{"type": "a"}"#, headers).status == 202)
        }
        let sent = await receiver.requests(3)
        #expect(sent.map { $0.header("tracestate") } == ["a=1,b=2", nil, nil])
        #expect(sent.first?.header("traceparent") == parent)
    }
}
