import HeraldModel
import HeraldStore
import Testing

@Suite("Lists as one text", .timeLimit(.minutes(20)))
struct TextListTests {
    private func read(_ text: String) throws(StoreError) -> [String] {
        try TextList.items(text) { String(decoding: $0, as: UTF8.self) }
    }

    @Test("every list is read as it was written")
    func round() throws {
        let lists: [[String]] = [
            [], [""], ["", ""], ["a"], ["1:a", "12:", ":"], ["Grüße", "\u{0}", "👋🏽"],
            [String(repeating: "x", count: 100_000)],
        ]
        for list in lists {
            #expect(try read(TextList.encode(list)) == list)
            let pairs = list.map { KeyValue($0, "v" + $0) }
            #expect(try TextList.pairs(TextList.encode(pairs)) == pairs)
            let bytes = TextList.encode(list.map { Array($0.utf8) })
            #expect(try bytes.withUnsafeBytes { try TextList.items($0) { Array($0) } } == list.map { Array($0.utf8) })
        }
    }

    @Test(
        "what is no list is an error",
        arguments: [
            ":", "a", "1", "1:", "2:a", "-1:a", "+1:a", " 1:a", "1:ab", "1:a:", "9223372036854775808:a",
            "99999999999:a", "0x1:a", "1\u{0}:a",
        ])
    func malformed(text: String) {
        #expect(throws: StoreError.self) { try read(text) }
    }

    @Test("pairs need an even number of items")
    func odd() {
        #expect(throws: StoreError.self) { try TextList.pairs("1:a") }
    }
}
