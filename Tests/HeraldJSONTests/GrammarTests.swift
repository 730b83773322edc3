import HeraldJSON
import Testing

/// After the manner of JSONTestSuite: what must be accepted, what must be refused.
@Suite("The grammar")
struct GrammarTests {
    @Test("accepts what RFC 8259 allows", arguments: accepted)
    func accepts(_ text: String) throws {
        _ = try JSONDocument(parsing: text)
    }

    @Test("refuses what RFC 8259 does not allow", arguments: refused)
    func refuses(_ text: String) {
        #expect(throws: JSONError.self) { try JSONDocument(parsing: text) }
    }

    @Test("refuses bytes that are not UTF-8, byte order marks and UTF-16", arguments: refusedBytes)
    func refusesBytes(_ text: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONDocument(parsing: text) }
    }

    @Test("refuses every control character in a string and accepts it escaped", arguments: 0..<UInt8(0x20))
    func controlCharacters(_ byte: UInt8) throws {
        #expect(throws: JSONError.self) { try JSONDocument(parsing: [0x22, byte, 0x22]) }
        let text = quoted(String(decoding: [byte], as: UTF8.self))
        #expect(try JSONDocument(parsing: text).root.string?.utf8.first == byte)
    }

    @Test("refuses every proper prefix of an object")
    func prefixes() throws {
        let text = Array(#" {"a":[1,-2.5e+3,true,false,null,{"b\u0041":"\ud83d\ude00é€😀\n"}],"":{},"c":[]}"#.utf8)
        _ = try JSONDocument(parsing: text)
        for count in 0..<text.count {
            let error = #expect(throws: JSONError.self) { try JSONDocument(parsing: Array(text[..<count])) }
            #expect((error?.offset ?? .max) <= count)
        }
    }

    @Test("a special character is found at every position of a word")
    func alignment() throws {
        for length in 0..<40 {
            let plain = String(repeating: "x", count: length)
            for special in ["é", "€", "😀", "\\n", "\\u0041", ""] {
                let text = "[\"\(plain)\(special)\(plain)\",1]"
                #expect(try JSONDocument(parsing: text).root.count == 2)
            }
            for bad in [UInt8(0), 0x1f, 0x80, 0xff, 0x22] {
                let text = Array("\"\(plain)".utf8) + [bad] + Array("\(plain)x\"".utf8)
                #expect(throws: JSONError.self) { try JSONDocument(parsing: text) }
            }
        }
    }
}

private let accepted: [String] = [
    // Structure
    "[]", "{}", " [] ", "\t\n\r {} \t\n\r", "[[]]", "[{}]", #"{"a":{}}"#, #"{"a":[]}"#, "[[],[]]", "[[[[[[]]]]]]",
    "[1]", "[1,2]", "[ 1 , 2 ]", "[1\n,2]", #"{"a":1}"#, #"{"a":1,"b":2}"#, #"{ "a" : 1 , "b" : 2 }"#,
    #"{"":0}"#, #"{"a":1,"A":2}"#, #"{"a":{"a":{"a":1}}}"#, #"[{"a":1},{"a":1}]"#, #"{"a":"a"}"#, #"{"\u0000":1}"#,
    #"{"a":1,"\u0062":2}"#, "[null,true,false]", #"["a",1,{"b":[]}]"#,
    // Lonely values
    "null", "true", "false", "0", "-0", "1", "42", #""""#, #""a""#, " 1 ", "\n\"x\"\n",
    // Numbers
    "-1", "10", "1234567890", "9223372036854775807", "-9223372036854775808", "123456789012345678901234567890",
    "0.5", "-0.5", "0.0", "1.25", "10.01", "1e1", "1E1", "1e+1", "1e-1", "1E+1", "1E-1", "0e0", "0e+1", "-0e-0",
    "1.5e10", "1.5E-10", "1e00", "1e999", "-1e999", "1e-999", "0.00000000000000000000000000000000001",
    "[-0.0,0e1,123e65]",
    // Strings
    #""\"""#, #""\\""#, #""\/""#, #""\b\f\n\r\t""#, #""\u0041""#, #""\u00e9""#, #""\u00E9""#, #""\uABCD""#,
    #""\uabcd""#, #""\ud83d\ude00""#, #""\uD83D\uDE00""#, #""\uD800\uDC00""#, #""\uDBFF\uDFFF""#, #""\u0000""#,
    #""\uFFFF""#, #""\uFEFF""#, #""\\u0041""#, #""\\\"""#, "\"/\"", "\"é\"", "\"€\"", "\"😀\"", "\"\u{7f}\"",
    "\"\u{80}\"", "\"\u{7ff}\"", "\"\u{800}\"", "\"\u{d7ff}\"", "\"\u{e000}\"", "\"\u{ffff}\"", "\"\u{10000}\"",
    "\"\u{10ffff}\"", "\"\u{2028}\u{2029}\"", "\"e\u{301}\"", #""a\/b""#, #"["\"","\\"]"#, #""// no comment""#,
    #""[1,2]""#, #""{}:,""#, #""1234567""#, #""12345678""#, #""123456789""#, #""\u12345""#,
    String(repeating: "[", count: 64) + String(repeating: "]", count: 64),
    "{\"" + String(repeating: "k", count: 256) + "\":1}",
]

private let refused: [String] = [
    // Nothing, or too much
    "", " ", "\n", "1 2", "[] []", "[]]", "{}}", "[],", "{},", "[]x", "{}x", "null null", "1,", "\"a\"\"b\"", "[]#",
    "{} // comment", "[1]/* comment */", "/**/1", "# 1\n1", "1 x", "true,false", "\u{feff}1", "[]\u{feff}",
    // Structure
    "[", "]", "{", "}", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1:2]", "[1;2]", "[}", "{]", "[1}",
    #"{"a"}"#, #"{"a":}"#, #"{"a":1"#, #"{"a":1,"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a":1,,"b":2}"#, #"{"a" 1}"#,
    #"{"a"::1}"#, #"{"a":1 "b":2}"#, #"{"a",1}"#, #"{"a":1:2}"#, "{:1}", "{1:1}", "{null:1}", "{a:1}", "{'a':1}",
    #"{"a":1]"#, #"{[]:1}"#, "{,}", "[[]", "[[[", #"{"a":{"b":1}"#, #"{"a"=1}"#, "(1)", "<1>", "[1\u{a0}]",
    "[\u{2028}1]",
    "[1,\u{b}2]", "[\u{c}]", ":", ",", "[:]", "\\n[]", "[\\n]", "*", "$", "[*]", "&1",
    // Literals
    "nul", "nulll", "Null", "NULL", "tru", "truee", "True", "TRUE", "fals", "falsee", "False", "undefined", "NaN",
    "nan",
    "Infinity", "-Infinity", "+Infinity", "inf", "-inf", "[NaN]", "[-NaN]", "[nul]", "[tru]", "[fals]", "n", "t", "f",
    // Numbers
    "01", "-01", "00", "-", "+1", "--1", "-+1", "1.", "-1.", ".5", "-.5", "0.", "1.e1", "1e", "1E", "1e+", "1e-", "e1",
    "0e", "0e+", "1.5e", "0x1", "0x", "1a", "1_000", "1,000", "1.2.3", "1e1.5", "1e1e1", "1 .5", "1. 5", "- 1", "1e 1",
    "0b1", "0o7", "012", "-012", "00.5", "1f", "1d", "1L", "١", "１", "∞", "½", "[1.]", "[.1]", "[-]", "[01]", "[1e]",
    // Strings
    "\"", "\"a", "'a'", "`a`", "\"\\", "\"\\\"", #""\a""#, #""\'""#, #""\0""#, #""\x41""#, #""\v""#, #""\ ""#,
    #""\U0041""#,
    #""\u""#, #""\u0""#, #""\u00""#, #""\u004""#, #""\u004g""#, #""\u{41}""#, #""\u+041""#, #""\u 041""#, #""\u00-1""#,
    #""\ud800""#, #""\udc00""#, #""\ud83d""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ud83d\u""#, #""\ud83d\u0041""#,
    #""\ud83d\ud83d""#, #""\ude00\ud83d""#, #""\uD800\uDBFF""#, #""\uDFFF""#, "\"a\nb\"", "\"a\tb\"", "\"a\rb\"",
    "\"\0\"",
    "\"\u{1f}\"", "a", "\\u0041", #"\"a\""#, "\"a\"b", #"["a]"#, #"["a"b]"#, #"["\"]"#, "“a”",
    // Ours
    #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#, #"{"":1,"":2}"#,
    #"{"\/":1,"/":2}"#, #"{"é":1,"\u00e9":2}"#, #"{"😀":1,"\ud83d\ude00":2}"#, #"[{"x":{"a":1,"a":2}}]"#,
    #"{"\n":1,"\u000a":2}"#, #"{"\u00E9":1,"\u00e9":2}"#,
    String(repeating: "[", count: 65) + String(repeating: "]", count: 65), String(repeating: "[", count: 100_000),
    String(repeating: #"{"a":"#, count: 65) + "1" + String(repeating: "}", count: 65),
    "{\"" + String(repeating: "k", count: 257) + "\":1}",
]

private let refusedBytes: [[UInt8]] = [
    [0], [0x20, 0], [0x31, 0], [0x5b, 0, 0x5d], [0x5b, 0x31, 0, 0x5d], [0x80], [0xff],
    // Byte order marks, UTF-16 and UTF-32
    [0xef, 0xbb, 0xbf], [0xef, 0xbb, 0xbf, 0x7b, 0x7d], [0xff, 0xfe, 0x5b, 0, 0x5d, 0], [0xfe, 0xff, 0, 0x5b, 0, 0x5d],
    [0x5b, 0, 0x5d, 0], [0, 0x5b, 0, 0x5d], [0, 0, 0, 0x5b, 0, 0, 0, 0x5d],
    // Strings: lone continuations, overlong forms, surrogates, beyond U+10FFFF, cut sequences
    [0x22, 0x80, 0x22], [0x22, 0xbf, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xc1, 0xbf, 0x22], [0x22, 0xc2, 0x22],
    [0x22, 0xc2, 0x41, 0x22], [0x22, 0xe0, 0x9f, 0xbf, 0x22], [0x22, 0xe2, 0x82, 0x22], [0x22, 0xe2, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xed, 0xbf, 0xbf, 0x22], [0x22, 0xf0, 0x8f, 0xbf, 0xbf, 0x22],
    [0x22, 0xf0, 0x9f, 0x98, 0x22], [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xf5, 0x80, 0x80, 0x80, 0x22],
    [0x22, 0xf8, 0x88, 0x80, 0x80, 0x80, 0x22], [0x22, 0xfe, 0x22], [0x22, 0xff, 0x22], [0x22, 0xc3],
    [0x22, 0xe2, 0x82],
    [0x22, 0xf0, 0x9f, 0x98], [0x22, 0x5c, 0xc3, 0xa9, 0x22], [0x22, 0x5c, 0x75, 0x30, 0x30, 0xc3, 0xa9, 0x22],
    [0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d], [0x5b, 0xc3, 0xa9, 0x5d], [0x22, 0x61, 0, 0x62, 0x22],
]
