import Testing

@testable import HeraldJSON

@Suite("Patterns of schemas")
struct PatternTests {
    private func matches(_ pattern: String, _ text: String) throws -> Bool {
        try violations(#"{"pattern": \#(quoted(pattern))}"#, quoted(text)) == []
    }

    @Test(
        "they match what ECMA-262 says",
        arguments: [
            ("", ["", "a"], []), ("b", ["b", "abc"], ["", "a"]), ("^b$", ["b"], ["ab", "bc", "b\n"]),
            ("^a|b$", ["ax", "xb"], ["xax"]), ("^(a|b)$", ["a", "b"], ["ab"]),
            ("^a.c$", ["abc", "a😀c"], ["a\nc", "ac"]),
            ("^a*$", ["", "aaa"], ["b"]), ("^a+?$", ["a", "aa"], [""]), ("^ab?c$", ["ac", "abc"], ["abbc"]),
            ("^a{2}$", ["aa"], ["a", "aaa"]), ("^a{2,}$", ["aa", "aaaa"], ["a"]),
            ("^(?:ab){1,2}$", ["ab", "abab"], ["", "ababab"]),
            ("^a{0}$", [""], ["a"]), ("^()a(){2}(?:b{0}|)*c(|d)$", ["ac", "acd"], ["", "abc"]),
            ("^(a*)*$", ["", "aa"], ["b"]), ("^((a|b)*c|d)+$", ["abcd", "d", "c"], ["ab"]),
            ("^[a-c_-]+$", ["ab-c_"], ["d", ""]), ("^[^a-c]$", ["d", "\n", "ü"], ["a", ""]), ("^[]$", [], ["", "a"]),
            ("^[c-eaabd-gz]$", ["a", "b", "d", "g", "z"], ["`", "h", "y"]), ("^[^cab]$", ["d"], ["a", "b", "c"]),
            ("^[^]$", ["a", "\n"], [""]), (#"^[\d\-x]+$"#, ["1-x"], ["y"]), (#"^[^\D5]$"#, ["4"], ["5", "a"]),
            (#"^[\W_]$"#, ["-", "_"], ["a"]), (#"^\d{3}$"#, ["123"], ["12a", "١٢٣"]),
            (#"^\w+\W\s\S$"#, ["a_1- x"], ["é- x"]),
            (#"^\s$"#, [" ", "\u{a0}", "\u{2028}", "\u{feff}", "\n"], ["a"]),
            (#"\bfoo\b"#, ["a foo.", "foo"], ["food"]),
            (#"oo\Bd"#, ["food"], ["foo d"]), (#"^\x41\u0042\u{1F600}\uD83D\uDE00\cJ\0$"#, ["AB😀😀\n\0"], ["AB"]),
            (#"^\/\.\-\[\]\{\}\(\)\*\+\?\^\$\|\\$"#, [#"/.-[]{}()*+?^$|\"#], [""]), (#"^[\b]$"#, ["\u{8}"], ["b"]),
            (#"^\p{Lu}\p{L}+\P{N}$"#, ["Äpfel!", "Ёлка-"], ["äpfel!", "Äpfel1"]), (#"^[\p{Nd}a]+$"#, ["1a٣"], ["b"]),
            (#"^(?<year>\d{4})-(?<month>\d\d)$"#, ["2026-01"], ["26-01"]), ("😀{2}", ["😀😀"], ["😀"]),
        ] as [(String, [String], [String])])
    func matching(pattern: String, accepted: [String], refused: [String]) throws {
        for text in accepted { #expect(try matches(pattern, text), "\(text.debugDescription)") }
        for text in refused { #expect(try !matches(pattern, text), "\(text.debugDescription)") }
    }

    @Test(
        "invalid patterns, and patterns without linear time, are refused",
        arguments: [
            "(", ")", "(a", "a)", "[", "[a", "a**", "*", "+a", "?", "{1}", "a{", "a{1", "a{2,1}", "a{,2}", "a{1001}",
            "]", "}",
            "\\", #"\1"#, #"(a)\1"#, #"\k<a>"#, "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?<a", "(?i)a", #"\a"#, #"\z"#,
            #"\x1"#,
            #"\u12"#, #"\u{110000}"#, #"\uD83D"#, #"\c1"#, #"\p{Script=Greek}"#, #"\p"#, "[b-a]", #"[\d-a]"#, "^*",
            "(a{1000}){1000}",
        ])
    func refused(pattern: String) throws {
        #expect(try problems(#"{"pattern": \#(quoted(pattern))}"#) == ["/pattern"])
    }

    @Test("large ones are refused early, in any form")
    func large() throws {
        var pattern = ""
        for _ in 0..<40 { pattern = "(\(pattern)){1000}" }
        #expect(try problems(#"{"pattern": "\#(pattern)"}"#) == [])
        #expect(try problems(#"{"pattern": "\#(pattern.replacing("()", with: "(a)"))"}"#) == ["/pattern"])
        let nested = String(repeating: "(", count: 60) + String(repeating: ")", count: 60)
        #expect(try problems(#"{"pattern": "\#(nested)"}"#) == ["/pattern"])
        let many = (0..<30).map { #"{"pattern": "(\#($0)a{999}){4}"}"# }.joined(separator: ",")
        #expect(try !problems(#"{"anyOf": [\#(many)]}"#).isEmpty)
    }

    @Test("what matches only the empty text takes no room", arguments: ["()", "(){9}", "(?:a{0})*", "a{0}"])
    func empty(part: String) throws {
        let parts = String(repeating: part, count: 5_000)
        let json = #"{"pattern":"(?:(?:\#(parts)){0,1000}){0,4}"}"#
        // One node and one instruction, beside the text.
        #expect(try schema(json).size == 2 + json.utf8.count / 16)
        #expect(try violations(json, "\"a\"") == [])
    }
}
