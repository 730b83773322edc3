import HeraldJSON
import Testing

@Suite("The writer")
struct WriterTests {
    @Test("commas and brackets are written automatically")
    func structure() {
        var json = JSONWriter()
        json.object {
            $0.member("id", "evt_1")
            $0.member("time", .timestamp(1_795_255_200_000))
            $0.member("count", 3)
            $0.member("ratio", 0.5)
            $0.member("live", true)
            $0.member("none", JSONNull())
            $0.member("missing", nil as String?)
            $0.member("left out", ifPresent: nil as Int?)
            $0.member("present", ifPresent: Int64(-4))
            $0.member("data", .raw(Array(#"{"x":[1]}"#.utf8)))
            $0.member("types", ["a", "b"])
            $0.array("list") {
                $0.element(1)
                $0.object { $0.member("a", UInt64.max) }
                $0.object { _ in }
                $0.array { $0.element("x") }
                $0.array { _ in }
            }
            $0.object("object") { $0.member("b", Int64.min) }
        }
        #expect(
            String(decoding: json.bytes, as: UTF8.self)
                == #"{"id":"evt_1","time":"2026-11-21T10:00:00.000Z","count":3,"ratio":0.5,"live":true,"none":null,"#
                + #""missing":null,"present":-4,"data":{"x":[1]},"types":["a","b"],"#
                + #""list":[1,{"a":18446744073709551615},{},["x"],[]],"object":{"b":-9223372036854775808}}"#)
    }

    @Test("strings are escaped only where necessary")
    func strings() {
        #expect(written("a/é€😀\u{7f}\u{2028}") == "\"a/é€😀\u{7f}\u{2028}\"")
        #expect(written("\"\\\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{b}x") == #""\"\\\b\f\n\r\t\u0000\u001f\u000bx""#)
        #expect(written("") == "\"\"")
    }

    @Test(
        "doubles have their shortest form",
        arguments: [
            (0, "0"), (-0.0, "-0"), (1, "1"), (-2, "-2"), (0.1, "0.1"), (1e20, "1e+20"), (1.5e-7, "1.5e-07"),
            (100, "100"), (.infinity, "null"), (-.infinity, "null"), (.nan, "null"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
        ])
    func doubles(_ value: Double, _ expected: String) throws {
        #expect(written(value) == expected)
        if value.isFinite { #expect(try JSONDocument(parsing: expected).root.double == value) }
    }

    @Test("integers of every size", arguments: [0, 7, 10, -1, 99, 100, 12345, .max, .min] as [Int64])
    func integers(_ value: Int64) { #expect(written(value) == "\(value)") }

    @Test("a writer appends to existing content")
    func appending() {
        var json = JSONWriter(appendingTo: Array("data: ".utf8))
        json.value(1)
        #expect(json.bytes == Array("data: 1".utf8))
    }

    @Test("parsed values are written unchanged")
    func values() throws {
        let document = try JSONDocument(parsing: #"{"a": [1.50, "\u0041"] }"#)
        var json = JSONWriter()
        json.object { $0.member("copy", document["a"]) }
        #expect(String(decoding: json.bytes, as: UTF8.self) == #"{"copy":[1.50, "\u0041"]}"#)
    }

    private func written(_ value: some JSONWritable) -> String {
        var json = JSONWriter()
        json.value(value)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
