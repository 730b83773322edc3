import HeraldJSON
import Testing

@Suite("Errors and limits")
struct ErrorTests {
    @Test(
        "an error says what is wrong and where",
        arguments: [
            (#"{"a":1,"bcd":234 x}"#, "expected ',' or '}' at byte 17 (line 1, column 18)"),
            ("[1\n, 2\n 3]", "expected ',' or ']' at byte 8 (line 3, column 2)"),
            ("", "expected a value, but the text is empty, at byte 0 (line 1, column 1)"),
            ("[1,]", "expected a value at byte 3 (line 1, column 4)"),
            ("[x]", "expected a value or ']' at byte 1 (line 1, column 2)"),
            ("{x}", "expected a key or '}' at byte 1 (line 1, column 2)"),
            (#"{"a":1,}"#, "expected a key at byte 7 (line 1, column 8)"),
            (#"{"a" 1}"#, "expected ':' at byte 5 (line 1, column 6)"),
            ("\"abc", "expected the end of a string at byte 4 (line 1, column 5)"),
            ("\"a\nb\"", "control character that is not escaped at byte 2 (line 1, column 3)"),
            ("\u{feff}1", "unexpected byte order mark: the text must be plain UTF-8, at byte 0 (line 1, column 1)"),
            (#""\x""#, "invalid escape at byte 1 (line 1, column 2)"),
            (#""\ud800""#, "lone surrogate at byte 1 (line 1, column 2)"),
            ("[01]", "number with a leading zero at byte 1 (line 1, column 2)"),
            ("[1.]", "expected a digit at byte 3 (line 1, column 4)"),
            ("[tru]", "expected 'true' at byte 1 (line 1, column 2)"),
            ("[] []", "unexpected text after the value at byte 3 (line 1, column 4)"),
            (#"{"a":1,"\u0061":2}"#, "duplicate key 'a' at byte 7 (line 1, column 8)"),
        ])
    func descriptions(_ text: String, _ expected: String) {
        let error = #expect(throws: JSONError.self) { try JSONDocument(parsing: text) }
        #expect(error?.description == expected)
    }

    @Test("values at the limits are accepted, values beyond are refused")
    func limits() throws {
        let limits = JSONLimits(depth: 2, values: 4, keyBytes: 3)
        _ = try JSONDocument(parsing: #"[[1,2]]"#, limits: limits)
        #expect(reason(#"[[1,2,3]]"#, limits) == .tooManyValues(limit: 4))
        #expect(reason(#"{"a":1,"b":2,"c":3,"d":4}"#, limits) == .tooManyValues(limit: 4))
        #expect(reason(#"[[[]]]"#, limits) == .tooDeep(limit: 2))
        _ = try JSONDocument(parsing: #"{"abc":1,"\u0061\u0062\u0064":2,"é":3}"#, limits: limits)
        #expect(reason(#"{"abcd":1}"#, limits) == .keyTooLong(limit: 3))
        #expect(reason(#"{"\u0061bcd":1}"#, limits) == .keyTooLong(limit: 3))
        #expect(reason(#"{"éé":1}"#, limits) == .keyTooLong(limit: 3))
        #expect(reason("1", JSONLimits(values: 0)) == .tooManyValues(limit: 0))
        #expect(reason("[]", JSONLimits(depth: -1)) == .tooDeep(limit: -1))
        #expect(reason("1", JSONLimits(values: -1)) == .tooManyValues(limit: -1))
        #expect(reason(#"{"a":1}"#, JSONLimits(keyBytes: -1)) == .keyTooLong(limit: -1))
    }

    @Test("10,000 values are accepted by default, and one more is not")
    func standardLimit() throws {
        func text(_ count: Int) -> [UInt8] { Array("[\(String(repeating: "1,", count: count - 2))1]".utf8) }
        _ = try JSONDocument(parsing: text(10_000))
        #expect(throws: JSONError.self) { try JSONDocument(parsing: text(10_001)) }
    }

    @Test("the depth can be raised", arguments: [65, 1000])
    func deeper(_ depth: Int) throws {
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        _ = try JSONDocument(parsing: text, limits: JSONLimits(depth: depth))
        #expect(throws: JSONError.self) { try JSONDocument(parsing: text, limits: JSONLimits(depth: depth - 1)) }
    }

    @Test("duplicate keys are found in objects of every size", arguments: [2, 3, 15, 16, 17, 18, 33, 100, 1000, 9_000])
    func duplicates(_ count: Int) throws {
        let keys = (0..<count).map { "key-\($0)" }
        func text(_ keys: [String]) -> String { "{" + keys.map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
        _ = try JSONDocument(parsing: text(keys))
        for (one, two) in [(0, count - 1), (0, 1), (count - 2, count - 1), (count / 2 - 1, count - 1)] {
            var equal = keys
            equal[two] = "\\u006b" + keys[one].dropFirst()
            let error = #expect(throws: JSONError.self) { try JSONDocument(parsing: text(equal)) }
            #expect(error?.reason == .duplicateKey(keys[one]))
        }
    }

    private func reason(_ text: String, _ limits: JSONLimits) -> JSONError.Reason? {
        do {
            _ = try JSONDocument(parsing: text, limits: limits)
            return nil
        } catch { return error.reason }
    }
}
