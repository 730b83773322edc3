import Glibc
import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("Published CloudEvents", .timeLimit(.minutes(20)), .serialized)
struct CloudEventTests {
    private static let structured = ["Content-Type": "application/cloudevents+json; charset=UTF-8"]
    private static let batch = ["Content-Type": "application/cloudevents-batch+json"]
    private static let binary = [
        "ce-specversion": "1.0", "ce-id": "b1", "ce-source": "/shop", "ce-type": "order.paid",
    ]

    @Test("one document is one event with the same id, type, subject, time and data")
    func structured() async throws {
        let herald = try await HeraldProcess.start()
        let posted = try await herald.post(
            "/v1/events",
            """
            {"specversion": "1.0", "id": "s1", "source": "/shop", "type": "order.paid", "subject": "order:7",
             "time": "2026-01-02T03:04:05.678Z", "datacontenttype": "application/json", "dataschema": null,
             "tenant": "x", "count": 5, "urgent": true, "data": {"a" : 1.0}}
            """, Self.structured)
        #expect(posted.status == 202)
        #expect(posted.id == "s1")
        let read = try await herald.get("/v1/events/s1")
        #expect(read.string("type") == "order.paid")
        #expect(read.string("subject") == "order:7")
        #expect(read.string("time") == "2026-01-02T03:04:05.678Z")
        #expect(read["data"]?.bytes == Array(#"{"a" : 1.0}"#.utf8))
        let again = try await herald.post(
            "/v1/events", #"{"specversion": "1.0", "id": "s1", "source": "/shop", "type": "order.paid"}"#,
            Self.structured)
        #expect(again.status == 200)
    }

    @Test("a batch is published as a whole or not at all, in its order; it may be empty")
    func batch() async throws {
        let herald = try await HeraldProcess.start()
        func event(_ id: String, _ source: String = #""/a""#) -> String {
            #"{"specversion": "1.0", "id": "\#(id)", "source": \#(source), "type": "a.b", "subject": "s"}"#
        }
        let posted = try await herald.post("/v1/events", "[\(event("e1")), \(event("e2"))]", Self.batch)
        #expect(posted.status == 202)
        #expect(posted.data.map { $0["id"]?.string } == ["e1", "e2"])
        let wrong = try await herald.post("/v1/events", "[\(event("e3")), \(event("e 4", "7.5")), 1]", Self.batch)
        #expect(wrong.status == 422)
        #expect(wrong.errors.sorted() == ["/1/id", "/1/source", "/2"])
        #expect(try await herald.get("/v1/events").data.count == 2)
        let empty = try await herald.post("/v1/events", "[]", Self.batch)
        #expect(empty.status == 200)
        #expect(empty.data.isEmpty)
        #expect(try await herald.post("/v1/events", event("e5"), Self.batch).errors == [""])
        #expect(try await herald.post("/v1/events", "[\(event("e5"))]", Self.structured).errors == [""])
    }

    @Test("equal ids of two sources are two events; the same source and id is one event")
    func sources() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        _ = try await herald.register(receiver.url("/standard"))
        _ = try await herald.register(receiver.url("/cloudevents"), #""format": "cloudevents""#)
        func event(_ source: String) -> String {
            #"{"specversion": "1.0", "id": "1", "source": "\#(source)", "type": "a.b", "data": "\#(source)"}"#
        }
        let body = "[\(event("/a")), \(event("/b")), \(event("/a"))]"
        let posted = try await herald.post("/v1/events", body, Self.batch)
        #expect(posted.status == 202)
        #expect(posted.data.map { $0["duplicate"]?.bool } == [false, false, true])
        let ids = posted.data.compactMap { $0["id"]?.string }
        try #require(ids.count == 3)
        #expect(ids[0] == "1" && ids[2] == "1" && ids[1].hasPrefix("1~"))
        let again = try await herald.post("/v1/events", body, Self.batch)
        #expect(again.status == 200)
        #expect(again.data.compactMap { $0["id"]?.string } == ids)
        for (id, source) in zip(ids, ["/a", "/b"]) {
            let read = try await herald.get("/v1/events/\(id)")
            #expect(read["data"]?.string == source)
            #expect(read["attributes"]?["source"]?.string == source)
        }
        #expect(try await herald.get("/v1/events/1?source=/b")["data"]?.string == "/b")
        #expect(try await herald.get("/v1/events/1?source=/a")["data"]?.string == "/a")
        #expect(try await herald.get("/v1/events/1?source=/c").status == 404)
        let requests = await receiver.requests(4)
        let standard = requests.filter { $0.path == "/standard" }.compactMap { $0.header("webhook-id") }
        #expect(Set(standard) == Set(ids))
        for request in requests where request.path == "/cloudevents" {
            let told = try JSONDocument(parsing: request.body)
            #expect(told["id"]?.string == "1")
            #expect(told["source"]?.string == told["data"]?.string)
        }
        // An erased one is still the same event.
        #expect(try await herald.post("/v1/events", #"{"type": "a", "id": "n", "subject": "s"}"#).status == 202)
        let subject = #"{"specversion": "1.0", "id": "2", "source": "/a", "type": "a.b", "subject": "s"}"#
        #expect(try await herald.post("/v1/events", subject, Self.structured).status == 202)
        #expect(try await herald.send("DELETE", "/v1/subjects/s").status == 200)
        #expect(try await herald.post("/v1/events", subject, Self.structured).status == 200)
        let elsewhere = subject.replacing("/a", with: "/b")
        #expect(try await herald.post("/v1/events", elsewhere, Self.structured).status == 202)
        #expect(try await herald.get("/v1/events/2")["attributes"]?["herald.source"] == nil)
    }

    @Test("a time is sent as it was written")
    func times() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        _ = try await herald.register(receiver.url("/structured"), #""format": "cloudevents", "ordering": "strict""#)
        let times = [
            "2018-04-05T03:56:24.123456789Z", "2018-04-05T05:56:24+02:00", "2018-04-05T03:56:24.123Z",
            "2018-04-05T03:56:24Z",
        ]
        for (index, time) in times.enumerated() {
            let event = #"{"specversion": "1.0", "id": "\#(index)", "source": "/s", "type": "a", "time": "\#(time)"}"#
            #expect(try await herald.post("/v1/events", event, Self.structured).status == 202)
        }
        let sent = try await receiver.requests(times.count).map { try JSONDocument(parsing: $0.body)["time"]?.string }
        #expect(sent == times)
        #expect(try await herald.get("/v1/events/0").string("time") == "2018-04-05T03:56:24.123Z")
    }

    @Test("attributes that the specification forbids are refused")
    func forbidden() async throws {
        let herald = try await HeraldProcess.start()
        for (name, value) in [
            ("source", #""a b""#), ("source", #""%zz""#), ("dataschema", #""x/y""#), ("dataschema", #""a b:c""#),
            ("big", "2147483648"), ("small", "-2147483649"),
        ] {
            let source = name == "source" ? "" : #""source": "/s","#
            let event = #"{"specversion": "1.0", "id": "1", \#(source) "type": "a", "\#(name)": \#(value)}"#
            let refused = try await herald.post("/v1/events", event, Self.structured)
            #expect(refused.status == 422 && refused.errors == ["/\(name)"])
        }
    }

    @Test("numbers and booleans keep their type in structured mode, and are strings in binary mode")
    func types() async throws {
        let herald = try await HeraldProcess.start()
        let receiver = try Receiver()
        defer { receiver.close() }
        _ = try await herald.register(receiver.url("/structured"), #""format": "cloudevents""#)
        _ = try await herald.register(receiver.url("/binary"), #""format": "cloudevents_binary""#)
        let posted = try await herald.post(
            "/v1/events",
            #"{"specversion": "1.0", "id": "t", "source": "/s", "type": "a.b", "count": 5, "urgent": true, "#
                + #""name": "5", "low": -2147483648}"#, Self.structured)
        #expect(posted.status == 202)
        for request in await receiver.requests(2) {
            if request.path == "/binary" {
                #expect(request.header("ce-count") == "5" && request.header("ce-urgent") == "true")
                continue
            }
            let event = try JSONDocument(parsing: request.body)
            #expect(event["count"]?.integer == 5 && event["urgent"]?.bool == true)
            #expect(event["name"]?.string == "5" && event["low"]?.integer == -2_147_483_648)
        }
        try await herald.kill()
        let next = try await herald.restart()
        let attributes = try await next.get("/v1/events/t")["attributes"]
        #expect(attributes?["count"]?.integer == 5 && attributes?["urgent"]?.bool == true)
        let wrong = #"{"specversion": "1.0", "id": "t", "source": 7, "type": "a.b", "dataschema": true}"#
        #expect(
            try await next.post("/v1/events", wrong, Self.structured).errors.sorted() == ["/dataschema", "/source"])
    }

    @Test("headers are the attributes, and the body is the data, byte for byte")
    func binary() async throws {
        let herald = try await HeraldProcess.start()
        let data = #"[1,  {"é": "\u00e9"}]"#
        let more = [
            "CE-Subject": "Euro%20%E2%82%AC", "ce-time": "2026-01-02T03:04:05Z", "Ce-Tenant": "x",
            "Content-Type": "application/vnd.order+json; charset=utf-8",
        ]
        let posted = try await herald.post("/v1/events", data, Self.binary.merging(more) { $1 })
        #expect(posted.status == 202)
        #expect(posted.id == "b1")
        let read = try await herald.get("/v1/events/b1")
        #expect(read.string("type") == "order.paid")
        #expect(read.string("subject") == "Euro €")
        #expect(read.string("time") == "2026-01-02T03:04:05.000Z")
        #expect(read["data"]?.bytes == Array(data.utf8))
        let bare = try await herald.send("POST", "/v1/events", nil, Self.binary.merging(["ce-id": "b2"]) { $1 })
        #expect(bare.status == 202)
        #expect(try await herald.get("/v1/events/b2")["data"]?.isNull == true)
    }

    @Test("the built-in families are validated as in Herald's own format")
    func families() async throws {
        let herald = try await HeraldProcess.start()
        let login = ["ce-type": "auth.logged_in", "ce-id": "l1"]
        let headers = Self.binary.merging(login) { $1 }
        let wrong = try await herald.post("/v1/events", #"{"user": {"id": 1.5}}"#, headers)
        #expect(wrong.status == 422)
        #expect(wrong.errors == ["/user/id"])
        #expect(try await herald.post("/v1/events", #"{"user": {"id": 42}}"#, headers).string("subject") == "user:42")
        #expect(try await herald.get("/v1/auth/42").string("status") == "logged_in")
    }

    @Test("errors in a document are located by pointer, errors in headers by name")
    func errors() async throws {
        let herald = try await HeraldProcess.start()
        let document = """
            {"specversion": "0.3", "id": null, "type": "Com/Example", "subject": "", "time": "now", "data_base64": "AA==",
             "datacontenttype": "text/plain", "my-ext": 1, "list": [], "half": 0.5, "nul": "\\u0000"}
            """
        #expect(
            try await herald.post("/v1/events", document, Self.structured).errors.sorted() == [
                "/data_base64", "/datacontenttype", "/half", "/id", "/list", "/my-ext", "/nul", "/source",
                "/specversion",
                "/subject", "/time", "/type",
            ])
        let headers = [
            "ce-specversion": "1.1", "ce-id": "a b", "ce-source": "", "ce-type": "herald.x", "ce-time": "now",
        ]
        #expect(
            try await herald.post("/v1/events", "1", headers).errors.sorted() == [
                "ce-id", "ce-source", "ce-specversion", "ce-time", "ce-type",
            ])
        let malformed = ["ce-a": "%FF", "ce-b-c": "1", "ce-datacontenttype": "application/json"]
        #expect(
            try await herald.post("/v1/events", "1", Self.binary.merging(malformed) { $1 }).errors.sorted() == [
                "ce-a", "ce-b-c", "ce-datacontenttype",
            ])
        let many = Dictionary(uniqueKeysWithValues: (0..<33).map { ("ce-x\($0)", "1") })
        #expect(try await herald.post("/v1/events", "1", Self.binary.merging(many) { $1 }).status == 422)
        #expect(try await herald.post("/v1/events", #"1, "x": 2"#, Self.binary).status == 400)
        #expect(try await herald.get("/v1/events").data.isEmpty)
    }

    @Test("other content types get 415, with or without CloudEvents headers")
    func contentTypes() async throws {
        let herald = try await HeraldProcess.start()
        for type in [
            "application/cloudevents+avro", "application/cloudevents", "text/plain", "application/octet-stream",
        ] {
            #expect(try await herald.post("/v1/events", "1", ["Content-Type": type]).status == 415, "\(type)")
            let binary = Self.binary.merging(["Content-Type": type]) { $1 }
            #expect(try await herald.post("/v1/events", "1", binary).status == 415, "\(type)")
        }
        #expect(try await herald.post("/v1/delegates", "{}", Self.structured).status == 415)
        #expect(
            try await herald.post("/v1/events", #"{"type": "a"}"#, ["Content-Type": "application/vnd.a+json"]).status
                == 415)
    }

    @Test("an idempotency key covers the headers too")
    func idempotency() async throws {
        let herald = try await HeraldProcess.start()
        let first = Self.binary.merging(["Idempotency-Key": "k"]) { $1 }
        #expect(try await herald.post("/v1/events", "1", first).status == 202)
        #expect(try await herald.post("/v1/events", "1", first).header("idempotent-replayed") == "true")
        #expect(try await herald.post("/v1/events", "1", first.merging(["ce-id": "b2"]) { $1 }).status == 422)
    }

    @Test(
        "events of the CloudEvents SDK from PyPI are accepted in all three modes",
        .enabled(if: getenv("HERALD_VENV") != nil)
    )
    func sdk() async throws {
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        let script = """
            import json
            from datetime import datetime, timezone
            from cloudevents.core.bindings.http import to_binary_event, to_structured_event
            from cloudevents.core.v1.event import CloudEvent
            def event(id):
                return CloudEvent({"specversion": "1.0", "id": id, "source": "/sdk", "type": "order.paid",
                    "subject": "Größe \\"7\\" 100%", "time": datetime(2026, 1, 2, 3, 4, 5, 678000, timezone.utc),
                    "datacontenttype": "application/json", "tenant": "x y"}, {"total": 12.5, "name": "é"})
            def show(headers, body):
                print(json.dumps({"headers": headers, "body": body.decode()}))
            for make, id in ((to_structured_event, "sdk-s"), (to_binary_event, "sdk-b")):
                message = make(event(id))
                show(dict(message.headers), message.body)
            batch = [json.loads(to_structured_event(event(id)).body) for id in ("sdk-1", "sdk-2")]
            show({"content-type": "application/cloudevents-batch+json"}, json.dumps(batch).encode())
            """
        let made = try await ChildProcess.run(venv + "/bin/python3", ["-c", script])
        let messages = made.text.split(separator: "\n").compactMap { try? JSONDocument(parsing: String($0)) }
        try #require(messages.count == 3, "\(made.text)")
        let herald = try await HeraldProcess.start()
        for message in messages {
            var headers: [String: String] = [:]
            for (name, value) in try #require(message["headers"]).members {
                headers[name.lowercased() == "content-type" ? "Content-Type" : name] = value.string
            }
            let posted = try await herald.post("/v1/events", try #require(message["body"]?.string), headers)
            #expect(posted.status == 202, "\(posted.text)")
        }
        for id in ["sdk-s", "sdk-b", "sdk-1", "sdk-2"] {
            let read = try await herald.get("/v1/events/\(id)")
            #expect(read.string("type") == "order.paid", "\(id)")
            #expect(read.string("subject") == "Größe \"7\" 100%", "\(id)")
            #expect(read.string("time") == "2026-01-02T03:04:05.678Z", "\(id)")
            #expect(read["data"]?["total"]?.double == 12.5 && read["data"]?["name"]?.string == "é", "\(id)")
        }
    }

    @Test(
        "callbacks in both formats are events for the SDK from PyPI",
        .enabled(if: getenv("HERALD_VENV") != nil))
    func delivered() async throws {
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        let herald = try await HeraldProcess.start()
        let receiver = try herald.receiver()
        _ = try await herald.register(receiver.url("/structured"), #""format": "cloudevents""#)
        _ = try await herald.register(receiver.url("/binary"), #""format": "cloudevents_binary""#)
        let data = #"{"total" : 12.50, "name": "\u00e9"}"#
        let posted = try await herald.post(
            "/v1/events",
            #"{"specversion": "1.0", "id": "c1", "source": "/shop", "type": "order.paid", "subject": "Größe 7", "#
                + #""tenant": "x y", "urgent": true, "data": \#(data)}"#, Self.structured)
        #expect(posted.status == 202)
        let requests = await receiver.requests(2)
        try #require(requests.count == 2)
        let script = """
            import json, sys
            from cloudevents.core.bindings.http import HTTPMessage, from_http_event
            message = json.loads(sys.argv[1])
            event = from_http_event(HTTPMessage(message, sys.stdin.buffer.read()))
            attributes = {name: str(value) for name, value in event.get_attributes().items()}
            print(json.dumps({"attributes": attributes, "data": event.get_data()}))
            """
        for request in requests {
            if request.path == "/binary" { #expect(request.body == Array(data.utf8)) }
            var headers = JSONWriter()
            headers.object { for (name, value) in request.headers { $0.member(name.lowercased(), value) } }
            let result = try await ChildProcess.run(
                venv + "/bin/python3", ["-c", script, String(decoding: headers.bytes, as: UTF8.self)],
                input: request.body)
            let event = try JSONDocument(parsing: result.text)
            let expected = [
                "specversion": "1.0", "id": "c1", "source": "/shop", "type": "order.paid", "subject": "Größe 7",
                "tenant": "x y", "datacontenttype": "application/json",
            ]
            for (name, value) in expected {
                #expect(event["attributes"]?[name]?.string == value, "\(request.path) \(name)")
            }
            // As Python prints a boolean and a text.
            let urgent = request.path == "/binary" ? "true" : "True"
            #expect(event["attributes"]?["urgent"]?.string == urgent)
            #expect(event["data"]?["total"]?.double == 12.5 && event["data"]?["name"]?.string == "é")
        }
    }
}
