import HeraldJSON
import Testing

@Suite("Values")
struct ValueTests {
    @Test("members and elements have the order of the text")
    func order() throws {
        let root = try JSONDocument(parsing: #"{"b":[1,[2,3],{"x":4}],"a":{"c":null},"d":true}"#).root
        #expect(root.members.map(\.key) == ["b", "a", "d"])
        #expect(root.members.map(\.value.kind) == [.array, .object, .bool])
        #expect(root["b"]?.elements.map(\.kind) == [.number, .array, .object])
        #expect(root["b"]?.count == 3)
        #expect(root["a"]?["c"]?.isNull == true)
        #expect(root["d"]?.bool == true)
        #expect(root["x"] == nil)
        #expect(root["b"]?["x"] == nil)
        #expect(Array(root.elements.map(\.kind)).isEmpty)
    }

    @Test("a byte range is the raw text of the value")
    func byteRange() throws {
        let text = Array(#" { "data" : { "n" : 1.50 , "s":"\u00e9" } , "x":"y" }"#.utf8)
        let data = try #require(try JSONDocument(parsing: text)["data"])
        #expect(String(decoding: text[data.byteRange], as: UTF8.self) == #"{ "n" : 1.50 , "s":"\u00e9" }"#)
        #expect(data.bytes == Array(text[data.byteRange]))
        #expect(data["n"]?.bytes == Array("1.50".utf8))
        #expect(data["s"]?.bytes == Array(#""\u00e9""#.utf8))
    }

    @Test("escapes are resolved in strings and keys")
    func escapes() throws {
        let document = try JSONDocument(parsing: #"{"\u0061\n":"\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00z"}"#)
        #expect(document["a\n"]?.string == "\"\\/\u{8}\u{c}\n\r\tAé€😀z")
        #expect(document.root.members.map(\.key) == ["a\n"])
        #expect(document["a\n"]?.isString("\"\\/\u{8}\u{c}\n\r\tAé€😀z") == true)
        #expect(document["a\n"]?.withUTF8 { $0.count } == 19)
    }

    @Test("keys of every length are found, however they are written", arguments: [1, 7, 8, 9, 16, 17, 255])
    func keysWithEscapes(count: Int) throws {
        let key = String(repeating: "b", count: count)
        let document = try JSONDocument(parsing: #"{"\#(key)c":1,"\u0062\#(key.dropFirst())":2,"\u0061":3}"#)
        #expect(document[key]?.integer == 2)
        #expect(document[key + "c"]?.integer == 1)
        #expect(document["a"]?.integer == 3)
        #expect(document[key + "b"] == nil)
        #expect(document[""] == nil)
    }

    @Test("strings and keys compare by bytes, not by canonical equivalence")
    func canonicalEquivalence() throws {
        let document = try JSONDocument(parsing: "{\"\u{e9}\":1,\"e\u{301}\":\"e\u{301}\"}")
        #expect(document["\u{e9}"]?.integer == 1)
        #expect(document["e\u{301}"]?.isString("e\u{301}") == true)
        #expect(document["e\u{301}"]?.isString("\u{e9}") == false)
    }

    @Test(
        "integers are exact or nothing, however they are written",
        arguments: [
            ("0", 0), ("-0", 0), ("42", 42), ("-7", -7), ("9223372036854775807", Int64.max),
            ("-9223372036854775808", .min), ("9223372036854775808", nil), ("-9223372036854775809", nil),
            ("99999999999999999999999", nil), ("14462.0", 14462), ("1e3", 1000),
            ("-2.50e1", -25), ("0.0", 0), ("0e99", 0), ("9223372036854775807.0", .max),
            ("-9.223372036854775808e18", .min),
            ("9223372036854775808.0", nil), ("1e19", nil), ("1e999999", nil), ("1.5", nil), ("1e-1", nil),
            ("\"1\"", nil), ("true", nil), ("[1]", nil),
        ] as [(String, Int64?)])
    func integers(_ text: String, _ expected: Int64?) throws {
        #expect(try JSONDocument(parsing: text).root.integer == expected)
    }

    @Test(
        "doubles are the nearest, and never infinite",
        arguments: [
            ("0", 0), ("1.5", 1.5), ("-2.5e-3", -0.0025), ("1e308", 1e308), ("0.1", 0.1), ("1e999", nil),
            ("-1e999", nil), ("1e-999", 0), ("9007199254740993", 9_007_199_254_740_992), ("null", nil),
        ] as [(String, Double?)])
    func doubles(_ text: String, _ expected: Double?) throws {
        #expect(try JSONDocument(parsing: text).root.double == expected)
    }

    @Test("values of one kind have no value of the others")
    func kinds() throws {
        let root = try JSONDocument(parsing: #"[null,true,1,"s",[],{}]"#).root
        #expect(root.elements.map(\.kind) == [.null, .bool, .number, .string, .array, .object])
        #expect(root.elements.map { $0.string } == [nil, nil, nil, "s", nil, nil])
        #expect(root.elements.map { $0.bool } == [nil, true, nil, nil, nil, nil])
        #expect(root.elements.map { $0.double } == [nil, nil, 1, nil, nil, nil])
        #expect(root.elements.map { $0.isNull } == [true, false, false, false, false, false])
        #expect(root.elements.map { $0.isString("s") } == [false, false, false, true, false, false])
    }

    @Test("values survive the next text of the parser")
    func lifetimes() throws {
        var parser = JSONParser()
        let first = try parser.parse(Array(#"{"a":"first"}"#.utf8))
        let second = try parser.parse(Array(#"{"a":"second"}"#.utf8))
        _ = try? parser.parse(Array("[".utf8))
        var copy = parser
        let third = try copy.parse(Array(#"["third"]"#.utf8))
        #expect(first["a"]?.string == "first")
        #expect(second["a"]?.string == "second")
        #expect(third.elements.map { $0.string } == ["third"])
    }

    @Test("a parser works after an error, and after large texts")
    func reuse() throws {
        var parser = JSONParser()
        let large = Array("[\(String(repeating: "1,", count: 5_000))1]".utf8)
        for _ in 0..<3 {
            #expect(try parser.parse(large).count == 5_001)
            #expect(throws: JSONError.self) { try parser.parse(large.dropLast()) }
            #expect(try parser.parse(Array("[1]".utf8)).count == 1)
            #expect(throws: JSONError.self) { try parser.parse([]) }
        }
    }

    @Test("offsets in a slice count from its start")
    func slices() throws {
        var parser = JSONParser()
        let value = try parser.parse(Array("xx[1,22]yy".utf8)[2..<8])
        #expect(value.byteRange == 0..<6)
        #expect(value.elements.map { $0.integer } == [1, 22])
    }
}
