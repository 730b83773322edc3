import Testing

@testable import Herald

@Suite("Names")
struct NamesTests {
    @Test("a pattern is a type, a prefix with a star, or a star", arguments: ["a", "a.b_1", "a.*", "a.b.*", "*"])
    func patterns(text: String) throws {
        #expect(try #require(EventPattern(text)).text == text)
    }

    @Test("anything else is no pattern", arguments: ["", ".*", "a*", "*.a", "a.*.b", "a.", "A", "**", "a..*"])
    func noPatterns(text: String) {
        #expect(EventPattern(text) == nil)
    }

    @Test("what a pattern matches")
    func matches() throws {
        #expect(EventPattern.any.matches("a"))
        #expect(try #require(EventPattern("a.*")).matches("a.b.c"))
        #expect(try !#require(EventPattern("a.*")).matches("a"))
        #expect(try !#require(EventPattern("a.*")).matches("ab.c"))
        #expect(try #require(EventPattern("a.b")).matches("a.b"))
        #expect(try !#require(EventPattern("a.b")).matches("a.b.c"))
    }

    @Test("ids have their prefix, 26 digits of Crockford's base 32, and sort in the order of their making")
    func ulids() {
        let ids = ULIDGenerator()
        var made: [String] = []
        for time: Int64 in [
            1_760_000_000_000, 1_760_000_000_001, 1_760_000_000_001, 1_759_999_999_000, 1_760_000_000_002,
        ] {
            for _ in 0..<200 { made.append(ids.next("evt_", time: time)) }
        }
        #expect(made == made.sorted())
        #expect(Set(made).count == made.count)
        let digits = Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        #expect(
            made.allSatisfy {
                $0.hasPrefix("evt_") && $0.utf8.count == 30 && $0.dropFirst(4).allSatisfy(digits.contains)
            })
    }

    @Test("the digits are those of the specification")
    func ulidText() {
        // The example of the specification: 01ARZ3NDEKTSV4RRFFQ69G5FAV.
        let text = ULIDGenerator.text("", time: 1_469_922_850_259, high: 0xd676, low: 0x4c61_efb9_9302_bd5b)
        #expect(text == "01ARZ3NDEKTSV4RRFFQ69G5FAV")
        #expect(ULIDGenerator.text("", time: 0xffff_ffff_ffff, high: .max, low: .max) == "7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
        #expect(ULIDGenerator.text("x_", time: 0, high: 0, low: 0) == "x_00000000000000000000000000")
    }
}
