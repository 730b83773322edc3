import HeraldJSON
import HeraldTestSupport
import Testing

@Suite("The catalogue of event types", .timeLimit(.minutes(20)), .serialized)
struct EventTypeTests {
    private static let schema =
        #"{"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}}}"#

    @Test("a type is described, listed, changed with its version, and deleted")
    func lifeCycle() async throws {
        let herald = try await HeraldProcess.start()
        let added = try await herald.send("PUT", "/v1/event-types/order.paid", #"{"description": "Paid in full."}"#)
        #expect(added.status == 201)
        #expect(added.header("location") == "/v1/event-types/order.paid")
        #expect(added.string("check") == "off")
        #expect(added["schema"]?.isNull == true)
        let tag = try #require(added.header("etag"))
        let changed = try await herald.send(
            "PUT", "/v1/event-types/order.paid", #"{"schema": \#(Self.schema), "example": {"amount": 1}}"#,
            ["If-Match": tag])
        #expect(changed.status == 200)
        #expect(changed["schema"]?.bytes == Array(Self.schema.utf8))
        #expect(changed.string("description") == "")
        #expect(try await herald.send("PUT", "/v1/event-types/order.paid", "{}", ["If-Match": tag]).status == 412)
        let known = ["If-None-Match": changed.header("etag") ?? ""]
        #expect(try await herald.get("/v1/event-types/order.paid", known).status == 304)
        for type in ["a", "z.z"] {
            #expect(try await herald.send("PUT", "/v1/event-types/\(type)", "{}").status == 201)
        }
        let page = try await herald.get("/v1/event-types?limit=2")
        #expect(page.data.map { $0["type"]?.string } == ["a", "order.paid"])
        let cursor = try #require(page.string("next_cursor"))
        #expect(try await herald.get("/v1/event-types?cursor=\(cursor)").data.map { $0["type"]?.string } == ["z.z"])
        try await herald.kill()
        let again = try await herald.restart()
        #expect(try await again.get("/v1/event-types/order.paid")["example"]?.bytes == Array(#"{"amount": 1}"#.utf8))
        #expect(try await again.send("DELETE", "/v1/event-types/order.paid").status == 204)
        #expect(try await again.get("/v1/event-types/order.paid").status == 404)
        #expect(try await again.send("DELETE", "/v1/event-types/order.paid").status == 404)
        // A type that is described again has no version of before.
        let new = try await again.send("PUT", "/v1/event-types/order.paid", "{}")
        #expect(new.status == 201 && new.header("etag") != tag)
        #expect(try await again.get("/v1/event-types/order.paid", known).status == 200)
        #expect(try await again.send("PUT", "/v1/event-types/order.paid", "{}", ["If-Match": tag]).status == 412)
    }

    @Test("a schema that a tool wrote is accepted, and the response lists the parts that are not checked")
    func unchecked() async throws {
        let herald = try await HeraldProcess.start()
        let schema = #"{"$id": "https://a.example/o", "title": "O", "x-unit": "kg", "format": "date"}"#
        let put = { (more: String) in
            try await herald.send("PUT", "/v1/event-types/o", #"{"schema": \#(schema), "check": "enforce"\#(more)}"#)
        }
        func pointers(_ answer: Answer) -> [String?]? { answer["unchecked"]?.elements.map { $0["pointer"]?.string } }
        let added = try await put("")
        #expect(added.status == 201)
        #expect(pointers(added) == ["/x-unit", "/format"])
        #expect(try await herald.post("/v1/events", #"{"type": "o", "data": "tomorrow"}"#).status == 202)
        let asserted = try await put(#", "assert_formats": true"#)
        #expect(asserted["assert_formats"]?.bool == true)
        #expect(pointers(asserted) == ["/x-unit"])
        let refused = try await herald.post("/v1/events", #"{"type": "o", "data": "tomorrow"}"#)
        #expect(refused.errors == ["/data"])
        try await herald.kill()
        let again = try await herald.restart()
        #expect(try await again.get("/v1/event-types/o")["assert_formats"]?.bool == true)
        #expect(try await again.post("/v1/events", #"{"type": "o", "data": "tomorrow"}"#).status == 422)
    }

    @Test("data that does not match is refused, or accepted with warnings and counted")
    func checks() async throws {
        let herald = try await HeraldProcess.start()
        func describe(_ check: String) async throws {
            let answer = try await herald.send(
                "PUT", "/v1/event-types/order.paid", #"{"schema": \#(Self.schema), "check": "\#(check)"}"#)
            #expect([200, 201].contains(answer.status))
        }
        try await describe("enforce")
        let bad = #"{"type": "order.paid", "data": {"amount": "much"}}"#
        let refused = try await herald.post("/v1/events", bad)
        #expect(refused.status == 422)
        #expect(refused.errors == ["/data/amount"])
        #expect(try await herald.post("/v1/events", #"[{"type": "a"}, {"type": "order.paid"}]"#).errors == ["/1/data"])
        #expect(try await herald.get("/v1/events").data.isEmpty)
        #expect(try await herald.post("/v1/events", #"{"type": "order.paid", "data": {"amount": 1}}"#).status == 202)
        try await describe("report")
        let warned = try await herald.post("/v1/events", bad)
        #expect(warned.status == 202)
        #expect(warned["warnings"]?.elements.map { $0["pointer"]?.string } == ["/data/amount"])
        let metrics = try await herald.get("/metrics").text
        #expect(metrics.contains("herald_event_check_failures_total{check=\"report\"} 1\n"))
        #expect(metrics.contains("herald_event_check_failures_total{check=\"enforce\"} 2\n"))
        try await describe("off")
        #expect(try await herald.post("/v1/events", bad)["warnings"] == nil)
    }

    @Test("values from PUT requests are validated too")
    func families() async throws {
        let herald = try await HeraldProcess.start()
        let schema = #"{"properties": {"state": {"enum": ["idle", "busy"]}}}"#
        _ = try await herald.send(
            "PUT", "/v1/event-types/app_state.changed", #"{"schema": \#(schema), "check": "enforce"}"#)
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": "idle"}"#).status == 200)
        #expect(try await herald.send("PUT", "/v1/app-state", #"{"state": "gone"}"#).errors == ["/state"])
    }

    @Test("an invalid schema, an example that does not match, and a check without a schema are refused")
    func refusals() async throws {
        let herald = try await HeraldProcess.start()
        for (body, pointer) in [
            (#"{"schema": {"type": "thing"}}"#, "/schema/type"),
            (#"{"schema": {"properties": {"a": {"$dynamicRef": "x"}}}}"#, "/schema/properties/a/$dynamicRef"),
            (#"{"schema": \#(Self.schema), "example": {}}"#, "/example"), (#"{"check": "enforce"}"#, "/check"),
            (#"{"check": "on"}"#, "/check"), (#"{"colour": "red"}"#, "/colour"), ("[]", ""),
        ] { #expect(try await herald.send("PUT", "/v1/event-types/a.b", body).errors == [pointer], "\(body)") }
        for type in ["a:b", "herald.x", "a..b"] {
            #expect(try await herald.send("PUT", "/v1/event-types/\(type)", "{}").status == 404, "\(type)")
        }
    }
}
