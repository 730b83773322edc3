import Glibc
import HeraldJSON
import HeraldReceiver
import HeraldTestSupport
import Testing

/// The requests are read with `opentelemetry-proto` from PyPI, when HERALD_VENV names a Python that has it: Tests/Traces/spans.py.
@Suite("Traces", .timeLimit(.minutes(20)), .enabled(if: getenv("HERALD_VENV") != nil))
struct TraceTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"

    private static func spans(_ collector: Receiver) async throws -> [JSONDocument] {
        let lines = collector.requests.map { request in
            request.body.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "\n"
        }
        let venv = getenv("HERALD_VENV").map { String(cString: $0) } ?? ""
        let script = #filePath.split(separator: "/").dropLast(2).reduce("/") { $0 + $1 + "/" } + "Traces/spans.py"
        let result = try await ChildProcess.run(
            venv + "/bin/python3", ["-B", script], input: Array(lines.joined().utf8))
        #expect(result.end == .exited(0), "\(result.text)")
        return result.text.split(separator: "\n").compactMap { try? JSONDocument(parsing: String($0)) }
    }

    private static func start(_ collector: Receiver, _ environment: [String: String] = [:]) async throws
        -> HeraldProcess
    {
        try await HeraldProcess.start(
            environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": collector.url("")].merging(environment) { $1 })
    }

    /// Publishes events of one publisher's spans, whose ids are the numbers from 1.
    private static func publish(_ count: Int, to herald: HeraldProcess) async throws {
        let port = herald.port
        let statuses = try await RawHTTP.onThread {
            let client = try RawHTTPClient(port: port)
            let body = #"{"type": "trace.test"}"#
            return try (1...count).map { number in
                client.send(
                    "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        + "traceparent: 00-\(trace)-\(id(number))-01\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                )
                return try client.readResponse()?.status ?? 0
            }
        }
        #expect(statuses.allSatisfy { $0 == 202 })
    }

    private static func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    @Test("every attempt of 1,000 events has a span below its publisher's, and no span is lost")
    func complete() async throws {
        let collector = try Receiver { _ in .status(200) }
        defer { collector.close() }
        let herald = try await Self.start(
            collector, ["OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b", "OTEL_SERVICE_NAME": "shop"])
        let receiver = try herald.receiver { _ in .status(204) }
        let delegate = try await herald.register(receiver.url("/hook?secret=1")).id
        try await Self.publish(1000, to: herald)
        _ = await receiver.requests(1000)
        #expect(try await herald.stop() == .exited(0))

        #expect(collector.requests.allSatisfy { $0.path == "/v1/traces" && $0.header("api-key") == "a b" })
        #expect(collector.requests.allSatisfy { $0.header("content-type") == "application/x-protobuf" })
        let spans = try await Self.spans(collector)
        func named(_ name: String) -> [JSONDocument] { spans.filter { $0["name"]?.string == name } }
        let published = named("POST /v1/events")
        let attempts = named("POST")
        let publishers = Set((1...1000).map(Self.id))
        #expect(Set(published.compactMap { $0["parent"]?.string }) == publishers && published.count == 1000)
        #expect(Set(attempts.compactMap { $0["parent"]?.string }) == publishers && attempts.count == 1000)
        let committed = Set(named("commit").compactMap { $0["parent"]?.string })
        #expect(committed == Set(published.compactMap { $0["span"]?.string }) && committed.count == 1000)
        #expect(spans.allSatisfy { $0["trace"]?.string == Self.trace })
        #expect(Set(spans.compactMap { $0["span"]?.string }).count == 3000)
        // A receiver's spans are below the attempt.
        let sent = Set(receiver.requests.compactMap { $0.header("traceparent") })
        #expect(sent == Set(attempts.compactMap { $0["span"]?.string }.map { "00-\(Self.trace)-\($0)-01" }))
        let attempt = try #require(attempts.first?["attributes"])
        #expect(attempt["messaging.destination.subscription.name"]?.string == delegate)
        #expect(
            attempt["http.response.status_code"]?.integer == 204 && attempt["server.address"]?.string == "127.0.0.1")
        #expect(attempt["server.port"]?.integer == Int64(receiver.port))
        #expect(spans.first?["resource"]?["service.name"]?.string == "shop")
        #expect(!spans.contains { String(decoding: $0.root.bytes, as: UTF8.self).contains("secret") })
    }

    /// The collector is reached with the settings for traces, which win over those for all exports.
    @Test("an event without a trace begins one, and each attempt of it belongs to it, with its error")
    func begun() async throws {
        let authority = try CertificateAuthority()
        let collector = try Receiver(tls: ReceiverTLS(authority))
        defer { collector.close() }
        let count = Counter()
        let folder = TemporaryFolder()
        let herald = try await Self.start(
            collector,
            [
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.url("/own"),
                "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": try folder.write(authority.pem, to: "ca.pem"),
                "OTEL_EXPORTER_OTLP_HEADERS": "api-key=all", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "api-key=own",
                "OTEL_RESOURCE_ATTRIBUTES": "service.name=none, area=a%2Cb", "OTEL_SERVICE_NAME": "shop",
            ])
        let receiver = try herald.receiver { _ in .status(count.next() == 1 ? 500 : 204) }
        _ = try await herald.register(receiver.url(), #""retry_schedule": [0.1]"#)
        let event = try await herald.publish()
        _ = try await herald.deliveries(of: event, "delivered")
        #expect(try await herald.stop() == .exited(0))
        let spans = try await Self.spans(collector)
        let root = try #require(spans.first { $0["name"]?.string == "POST /v1/events" })
        #expect(root["parent"]?.string == "" && root["attributes"]?["messaging.message.id"]?.string == event)
        let attempts = spans.filter { $0["name"]?.string == "POST" }
        #expect(attempts.count == 2 && attempts.allSatisfy { $0["parent"]?.string == root["span"]?.string })
        #expect(attempts.map { $0["status"]?.integer } == [2, 0])
        #expect(attempts.map { $0["attributes"]?["error.type"]?.string } == ["500", nil])
        #expect(attempts.map { $0["attributes"]?["http.request.resend_count"]?.integer } == [nil, 1])
        #expect(collector.requests.allSatisfy { $0.path == "/own" && $0.header("api-key") == "own" })
        #expect(root["resource"]?["service.name"]?.string == "shop" && root["resource"]?["area"]?.string == "a,b")
    }

    @Test("what the publisher does not record is not exported, and its trace is passed on as it is")
    func unsampled() async throws {
        let collector = try Receiver { _ in .status(200) }
        defer { collector.close() }
        let herald = try await Self.start(collector)
        let (receiver, _) = try await herald.registerReceiver { _ in .status(204) }
        let parent = "00-\(Self.trace)-b7ad6b7169203331-00"
        _ = try await herald.post("/v1/events", #"{"type": "test.happened"}"#, ["traceparent": parent])
        #expect(await receiver.requests(1).first?.header("traceparent") == parent)
        #expect(try await herald.stop() == .exited(0))
        #expect(collector.requestCount == 0)
    }

    @Test("a refused request has a span below the client's, with its status; one that the client caused is no error")
    func refusedRequests() async throws {
        let collector = try Receiver { _ in .status(200) }
        defer { collector.close() }
        let herald = try await Self.start(collector)
        let requests = [
            ("POST", "/v1/events", "{", "POST /v1/events", 400),
            ("POST", "/v1/events", #"{"type": 1}"#, "POST /v1/events", 422),
            ("GET", "/v1/delegates/none", "", "GET /v1/delegates/{id}", 404), ("GET", "/v1/none", "", "GET", 404),
            ("PUT", "/v1/auth/7", #"{"status": "gone"}"#, "PUT /v1/auth/{user_id}", 422),
            ("POST", "/v1/delegates", #"{"url": "ftp://x"}"#, "POST /v1/delegates", 422),
            ("DELETE", "/v1/events", "", "DELETE", 405),
        ]
        for (number, (method, path, body, _, status)) in requests.enumerated() {
            let parent = "00-\(Self.trace)-\(Self.id(number + 1))-01"
            let answer = try await herald.send(method, path, body, ["traceparent": parent])
            #expect(answer.status == status, "\(answer.text)")
        }
        // Successful ones that publish nothing have none.
        _ = try await herald.get("/v1/delegates")
        #expect(try await herald.stop() == .exited(0))
        let spans = try await Self.spans(collector)
        #expect(spans.count == requests.count)
        for (number, (method, _, _, name, status)) in requests.enumerated() {
            let span = try #require(spans.first { $0["parent"]?.string == Self.id(number + 1) })
            let attributes = span["attributes"]
            #expect(span["name"]?.string == name && span["trace"]?.string == Self.trace && span["kind"]?.integer == 2)
            #expect(attributes?["http.request.method"]?.string == method)
            #expect(attributes?["http.response.status_code"]?.integer == Int64(status))
            #expect(attributes?["error.type"] == nil && span["status"]?.integer == 0)
            #expect((attributes?["http.route"]?.string ?? "") == name.dropFirst(method.count + 1))
        }
    }

    @Test("setting an auth status or the app state is a span like a publication, and its attempts belong to it")
    func states() async throws {
        let collector = try Receiver { _ in .status(200) }
        defer { collector.close() }
        let herald = try await Self.start(collector)
        let receiver = try herald.receiver { _ in .status(204) }
        _ = try await herald.register(receiver.url(), #""events": ["auth.*", "app_state.*"]"#)
        let parent = "00-\(Self.trace)-\(Self.id(1))-01"
        let login = try await herald.send("PUT", "/v1/auth/7", #"{"status": "logged_in"}"#, ["traceparent": parent])
        #expect(login.status == 200, "\(login.text)")
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": "idle"}"#).status == 200)
        // Nothing is published.
        #expect(try await herald.send("PUT", "/v1/app-state?if_changed=true", #"{"state": "idle"}"#).status == 200)
        // The login, the change of the status, and the state.
        _ = await receiver.requests(3)
        #expect(try await herald.stop() == .exited(0))
        let spans = try await Self.spans(collector)
        func named(_ name: String) -> [JSONDocument] { spans.filter { $0["name"]?.string == name } }
        let auth = try #require(named("PUT /v1/auth/{user_id}").first)
        #expect(auth["parent"]?.string == Self.id(1) && auth["trace"]?.string == Self.trace)
        #expect(auth["attributes"]?["messaging.message.id"]?.string == login.string("event_id"))
        #expect(auth["attributes"]?["http.response.status_code"]?.integer == 200)
        let states = named("PUT /v1/app-state")
        #expect(states.compactMap { $0["attributes"]?["messaging.batch.message_count"]?.integer } == [1, 0])
        let state = try #require(states.first)
        let commits = Set(named("commit").map { $0["parent"]?.string })
        #expect(commits.isSuperset(of: [auth["span"]?.string, state["span"]?.string]))
        let attempts = named("POST")
        #expect(attempts.contains { $0["parent"]?.string == Self.id(1) && $0["trace"]?.string == Self.trace })
        #expect(attempts.contains { $0["parent"]?.string == state["span"]?.string })
    }

    @Test("a message of Svix's API is a span like a publication, and its attempts belong to it")
    func messages() async throws {
        let collector = try Receiver { _ in .status(200) }
        defer { collector.close() }
        let herald = try await HeraldProcess.start(
            ["--svix-api", "true"], environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": collector.url("")],
            adminKey: MadeKey.admin.text)
        let receiver = try herald.receiver { _ in .status(204) }
        _ = try await herald.post("/api/v1/app", #"{"name": "Acme", "uid": "acme"}"#)
        let path = "/api/v1/app/acme"
        let made = try await herald.post(path + "/endpoint", #"{"url": "\#(receiver.url())"}"#)
        #expect(made.status == 201, "\(made.text)")
        let message = #"{"eventType": "order.paid", "eventId": "m1", "payload": {}}"#
        let key = ["Idempotency-Key": "k1"]
        #expect(try await herald.post(path + "/msg", message, key).status == 202)
        // The response is repeated.
        #expect(try await herald.post(path + "/msg", message, key).status == 202)
        // Nothing is published.
        #expect(try await herald.post(path + "/msg", message).status == 409)
        _ = await receiver.requests(1)
        #expect(try await herald.stop() == .exited(0))
        let spans = try await Self.spans(collector)
        func named(_ name: String) -> [JSONDocument] { spans.filter { $0["name"]?.string == name } }
        let posts = named("POST /api/v1/app/{app_id}/msg")
        #expect(posts.count == 3)
        let published = posts.filter { $0["attributes"]?["messaging.message.id"]?.string == "m1" }
        #expect(published.count == 2)
        let parent = try #require(named("POST").first?["parent"]?.string)
        #expect(published.contains { $0["span"]?.string == parent })
        #expect(named("commit").contains { $0["parent"]?.string == parent })
    }

    @Test("a collector that fails, or never responds, delays no delivery; the spans arrive once it works")
    func failing() async throws {
        let isMended = Flag()
        let collector = try Receiver { _ in isMended.isSet ? .status(200) : .status(503) }
        defer { collector.close() }
        let receiver = try Receiver { _ in .status(204) }
        defer { receiver.close() }
        let herald = try await Self.start(collector)
        _ = try await herald.register(receiver.url())
        try await Self.publish(20, to: herald)
        _ = await receiver.requests(20)
        try await eventually("the failure is logged") {
            !herald.log("traces not exported: the spans wait, and are dropped when too many wait").isEmpty
        }
        isMended.set()
        _ = try await herald.get("/metrics") { $0.text.contains(#"herald_spans_total{outcome="exported"} 60"#) }
        let again = try await eventually("the end of it is logged") { herald.log("traces exported again").first }
        #expect(again["dropped"]?.string == "0")

        var silent = Receiver.Configuration()
        silent.welcome = { _ in .ignore }
        let mute = try Receiver(silent) { _ in .status(200) }
        defer { mute.close() }
        let other = try await Self.start(mute, ["OTEL_EXPORTER_OTLP_TIMEOUT": "200"])
        _ = try await other.register(receiver.url())
        try await Self.publish(20, to: other)
        _ = await receiver.requests(40)
        try await eventually("the failure is logged") {
            !other.log("traces not exported: the spans wait, and are dropped when too many wait").isEmpty
        }
        #expect(try await other.stop() == .exited(0))
    }

    @Test("OpenMetrics has exemplars that name recorded spans, and a reader of OpenMetrics reads the page")
    func exemplars() async throws {
        let collector = try Receiver { _ in .status(200) }
        defer { collector.close() }
        let herald = try await Self.start(collector)
        _ = try await herald.registerReceiver { _ in .status(204) }
        try await Self.publish(1, to: herald)
        let page = try await herald.get("/metrics", ["Accept": "application/openmetrics-text"]) {
            $0.text.contains("herald_attempt_duration_seconds_count 1")
        }
        #expect(page.header("content-type") == "application/openmetrics-text; version=1.0.0; charset=utf-8")
        let script = """
            import sys
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
            for family in text_string_to_metric_families(sys.stdin.read()):
                for sample in family.samples:
                    if sample.exemplar: print(family.name, sample.exemplar.labels["trace_id"])
            """
        let venv = getenv("HERALD_VENV").map { String(cString: $0) } ?? ""
        let read = try await ChildProcess.run(venv + "/bin/python3", ["-c", script], input: Array(page.text.utf8))
        #expect(
            Set(read.text.split(separator: "\n")) == [
                "herald_attempt_duration_seconds \(Self.trace)", "herald_commit_duration_seconds \(Self.trace)",
            ], "\(read.text)")
        #expect(try await !herald.get("/metrics").text.contains("trace_id"))
    }

    @Test(
        "settings are refused that Herald does not keep",
        arguments: [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"),
            ("OTEL_TRACES_SAMPLER", "xray", "parentbased_always_on"),
            ("OTEL_TRACES_SAMPLER_ARG", "2", "0 to 1"), ("OTEL_EXPORTER_OTLP_HEADERS", "a", "name=value"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317", "http or https URL"),
        ])
    func refused(variable: String, value: String, words: String) async throws {
        let result = try await ChildProcess.run(
            try Binary.path(), ["serve", "--listen", "127.0.0.1:0"], environment: [variable: value])
        #expect(result.end == .exited(64) && result.text.contains(variable) && result.text.contains(words))
        let empty = try await ChildProcess.run(try Binary.path(), ["config"], environment: [variable: ""])
        #expect(empty.end == .exited(0), "\(empty.text)")
    }
}
