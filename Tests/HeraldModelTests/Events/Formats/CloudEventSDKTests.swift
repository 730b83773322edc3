import Glibc
import HeraldJSON
import HeraldModel
import HeraldTestSupport
import Testing

/// Held against the CloudEvents SDK of PyPI, when HERALD_VENV names a Python that has it.
@Suite("CloudEvents and their SDK", .timeLimit(.minutes(20)))
struct CloudEventSDKTests {
    @Test("it reads the same event from both modes", .enabled(if: getenv("HERALD_VENV") != nil))
    func reading() async throws {
        let venv = try #require(getenv("HERALD_VENV").map { String(cString: $0) })
        let event = Event(
            id: "e-1", type: "order.paid", subject: "Größe \"7\" 100% 😀", time: 1_760_000_000_123,
            attributes: [
                KeyValue("source", "/shop?a=%20"), KeyValue("tenant", "x y"), KeyValue("dataschema", "urn:a:b"),
            ],
            data: Array(#"{"total" : 12.50, "name": "\u00e9"}"#.utf8))
        var binary: [(String, String)] = CloudEventFormat.binaryHeaders(event, source: "/herald").map {
            ($0.key, $0.value)
        }
        binary.append(("content-type", CloudEventFormat.binaryContentType(event)))
        let structured = [("content-type", CloudEventFormat.structuredContentType)]
        let input =
            message(structured, CloudEventFormat.structuredBody(event, source: "/herald")) + [10]
            + message(binary, Array(event.data))
        let script = """
            import json, sys
            from cloudevents.core.bindings.http import HTTPMessage, from_http_event
            for line in sys.stdin:
                message = json.loads(line)
                event = from_http_event(HTTPMessage(message["headers"], message["body"].encode()))
                attributes = {name: str(value) for name, value in event.get_attributes().items()}
                print(json.dumps({"attributes": attributes, "data": event.get_data()}))
            """
        let result = try await ChildProcess.run(venv + "/bin/python3", ["-c", script], input: input)
        let read = result.text.split(separator: "\n").compactMap { try? JSONDocument(parsing: String($0)) }
        try #require(read.count == 2, "\(result.text)")
        for document in read {
            let attributes = try #require(document["attributes"])
            let expected = [
                "specversion": "1.0", "id": "e-1", "source": "/shop?a=%20", "type": "order.paid",
                "subject": "Größe \"7\" 100% 😀", "tenant": "x y", "dataschema": "urn:a:b",
                "datacontenttype": "application/json",
            ]
            for (name, value) in expected { #expect(attributes[name]?.string == value, "\(name)") }
            #expect(attributes["time"]?.string?.hasPrefix("2025-10-09 08:53:20.123") == true)
            #expect(document["data"]?["total"]?.double == 12.5 && document["data"]?["name"]?.string == "é")
        }
    }

    private func message(_ headers: [(String, String)], _ body: [UInt8]) -> [UInt8] {
        JSONWriter.document { message in
            message.object("headers") { for (name, value) in headers { $0.member(name, value) } }
            message.member("body", String(decoding: body, as: UTF8.self))
        }
    }
}
