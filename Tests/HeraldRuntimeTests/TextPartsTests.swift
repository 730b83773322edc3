import HeraldRuntime
import Testing

@Suite("Parts of a text")
struct TextPartsTests {
    @Test("are found by their bytes")
    func place() {
        let text = "aab://c"
        #expect(text.place(of: "ab").map { text[..<$0.lowerBound] } == "a")
        #expect(text.place(of: "://").map { text[$0.upperBound...] } == "c")
        #expect(text.place(of: "bc") == nil && text.place(of: "c://") == nil && "".place(of: "a") == nil)
        #expect(text.place(of: "") == nil)
        #expect(Array(text.utf8).place(of: "b:".utf8) == 2..<4)
        #expect(text.dropFirst(4).holds("/c") && !text.prefix(4).holds("://"))
    }

    @Test("are found before a combining character, and not in another normal form")
    func characters() {
        #expect("e\u{301}".holds("e") && !"\u{e9}".holds("e\u{301}") && "\r\n".holds("\n"))
        // A quote that SQL and shells see.
        #expect("a'\u{301}b".replaced("'", by: "''") == "a''\u{301}b")
    }

    @Test("are separated and replaced")
    func pieces() {
        #expect(", a, , b".pieces(around: ", ") == ["", "a", "", "b"])
        #expect("a, ".pieces(around: ", ") == ["a", ""] && "".pieces(around: ", ") == [""])
        #expect("a".pieces(around: "") == ["a"])
        #expect("--a--".dropFirst().replaced("-", by: "__") == "__a____" && "aaa".replaced("aa", by: "b") == "ba")
    }
}
