import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Events as CloudEvents")
struct CloudEventFormatTests {
    private let plain = Event("order.paid", id: "evt_1", data: #"{"amount" : 1.50}"#)
    private let full = Event(
        id: "e", type: "order.paid", subject: "Bestellung \"7\" ü", time: 1_760_000_000_000,
        attributes: [
            KeyValue("source", "/shop"), KeyValue("dataschema", "https://example.com/s"), KeyValue("tenant", "a%b"),
            KeyValue("traceparent", "00-1-2-01"), KeyValue("not-one", "x"), KeyValue("id", "x"), KeyValue("empty", ""),
            KeyValue("datacontenttype", "application/vnd.order+json"),
        ], data: Array("7".utf8))

    @Test("structured: one JSON document with the data byte for byte")
    func structured() {
        #expect(
            String(decoding: CloudEventFormat.structuredBody(plain, source: "/herald"), as: UTF8.self)
                == #"{"specversion":"1.0","id":"evt_1","source":"/herald","type":"order.paid","#
                + #""time":"2025-10-09T08:53:20.000Z","datacontenttype":"application/json","data":{"amount" : 1.50}}"#)
        #expect(
            String(decoding: CloudEventFormat.structuredBody(full, source: "/herald"), as: UTF8.self)
                == #"{"specversion":"1.0","id":"e","source":"/shop","type":"order.paid","#
                + #""subject":"Bestellung \"7\" ü","time":"2025-10-09T08:53:20.000Z","#
                + #""dataschema":"https://example.com/s","tenant":"a%b","traceparent":"00-1-2-01","#
                + #""datacontenttype":"application/vnd.order+json","data":7}"#)
    }

    @Test("binary: headers in visible ASCII, percent-encoded where necessary")
    func binary() {
        #expect(CloudEventFormat.binaryContentType(plain) == "application/json")
        #expect(CloudEventFormat.binaryContentType(full) == "application/vnd.order+json")
        #expect(
            CloudEventFormat.binaryHeaders(full, source: "/herald").map { "\($0.key): \($0.value)" } == [
                "ce-specversion: 1.0", "ce-id: e", "ce-source: /shop", "ce-type: order.paid",
                "ce-subject: Bestellung%20%227%22%20%C3%BC", "ce-time: 2025-10-09T08:53:20.000Z",
                "ce-dataschema: https://example.com/s", "ce-tenant: a%25b", "ce-traceparent: 00-1-2-01",
            ])
    }

    @Test("a content type that can't be a header value is not sent")
    func unsafeContentType() {
        let event = Event(
            id: "e", type: "a", subject: nil, time: 0,
            attributes: [KeyValue("datacontenttype", "application/json\r\nx: y")], data: [0x31])
        #expect(CloudEventFormat.binaryContentType(event) == "application/json")
    }

    @Test(
        "a header value decodes to the encoded text",
        arguments: ["", "a", "Euro € 😀", "\"%41\"", "a b\tc", "100%"])
    func headers(value: String) {
        #expect(CloudEventHeader.decode(CloudEventHeader.encode(value)) == value)
    }

    @Test("foreign values are decoded leniently, but only as UTF-8")
    func decoding() {
        #expect(CloudEventHeader.decode("Euro%20%E2%82%AC%20%F0%9F%98%80") == "Euro € 😀")
        #expect(CloudEventHeader.decode("%c3%bc") == "ü")
        #expect(CloudEventHeader.decode(#""a \"b\" \\ %41""#) == #"a "b" \ A"#)
        #expect(CloudEventHeader.decode("100% %4") == "100% %4")
        #expect(CloudEventHeader.decode("%FF") == nil)
        #expect(CloudEventHeader.decode("%C3x") == nil)
    }
}
