import Testing

@testable import HeraldModel

@Suite("Names")
struct NamesTests {
    @Test(
        "a pattern is a type, a prefix with a star, or a star",
        arguments: ["a", "a.b_1", "a.*", "a.b.*", "*", "Microsoft.Storage.BlobCreated", "Order-Service.*"])
    func patterns(text: String) throws {
        #expect(try #require(EventPattern(text)).text == text)
    }

    @Test("anything else is refused", arguments: ["", ".*", "a*", "*.a", "a.*.b", "a.", "a:b", "**", "a..*"])
    func noPatterns(text: String) {
        #expect(EventPattern(text) == nil)
    }

    @Test("patterns match the expected types")
    func matches() throws {
        #expect(EventPattern.any.matches("a"))
        #expect(try #require(EventPattern("a.*")).matches("a.b.c"))
        #expect(try !#require(EventPattern("a.*")).matches("a"))
        #expect(try !#require(EventPattern("a.*")).matches("ab.c"))
        #expect(try #require(EventPattern("a.b")).matches("a.b"))
        #expect(try !#require(EventPattern("a.b")).matches("a.b.c"))
    }

    @Test("a subject matches exactly, by prefix, or with any star")
    func subjectsMeant() {
        let orders = SubjectSelection(["order:*", "user:1"])
        #expect(orders.contains("order:7") && orders.contains("order:") && orders.contains("user:1"))
        #expect(!orders.contains("order") && !orders.contains("user:12") && !orders.contains(nil))
        #expect(SubjectSelection(["*"]).contains("x") && !SubjectSelection(["*"]).contains(nil))
        #expect(SubjectSelection([String]()).contains("x") && SubjectSelection([String]()).contains(nil))
        // Swift takes these two texts for equal.
        let places = ["caf\u{e9}", "cafe\u{301}"]
        for (index, place) in places.enumerated() {
            #expect(SubjectSelection([place]).contains(place) && !SubjectSelection([place]).contains(places[1 - index]))
            #expect(SubjectSelection(places).contains(place))
            #expect(SubjectSelection(places.map { $0 + "*" }).contains(place + "s"))
        }
        #expect(SubjectSelection([places[0]]) != SubjectSelection([places[1]]))
        // Swift takes the sign and the star behind it for one character.
        let numbers = SubjectSelection(["no:\u{600}*"])
        #expect(numbers.contains("no:\u{600}7") && !numbers.contains("no:7"))
    }

    @Test("many prefixes match like each of them, also where one begins with another")
    func manyPrefixes() {
        let letters = ["", "a", "aaaaaaaaab", "\u{e9}", "z"]
        let pairs = letters.flatMap { first in letters.map { "\(first)\($0)" } }
        let texts = pairs.flatMap { pair in letters.map { "\(pair)\($0)" } }
        for count in 1...texts.count {
            let prefixes = texts.indices.filter { $0 * 7 % 31 % count == count / 2 }.map { texts[$0] }
            let selection = SubjectSelection(prefixes.map { $0 + "*" })
            for text in texts {
                let isMeant = prefixes.contains { text.utf8.starts(with: $0.utf8) }
                #expect(selection.contains(text) == (isMeant || prefixes.isEmpty), "\(text) of \(prefixes)")
            }
        }
    }

    @Test(
        "a star that is not at the end of a subject is refused",
        arguments: ["*:1", "a*b", "a**", "**", "", String(repeating: "a", count: 257)])
    func noSubjects(text: String) {
        #expect(SubjectSelection.problem(text) != nil)
    }

    @Test("a publisher's id is visible ASCII, and differs in form from those of the log")
    func eventIDs() {
        for id in ["a", "1.2", "a/b:c", "partition:1/offset:7", "evt_01", "...", String(repeating: "x", count: 128)] {
            #expect(EventID.isValid(id) && EventID.isKnowable(id), "\(id)")
        }
        for id in ["", ".", "..", "a b", "a,b", "a\"b", "a\\b", "a~b", "ä", String(repeating: "x", count: 129)] {
            #expect(!EventID.isValid(id), "\(id)")
        }
        let qualified = EventID.qualified("a/b", source: "/shop")
        #expect(EventID.isKnowable(qualified) && !EventID.isValid(qualified))
        #expect(qualified != EventID.qualified("a/b", source: "/shop2"))
        // Swift takes these sources for equal.
        let events = ["/caf\u{e9}", "/cafe\u{301}"].map { source in
            Event(
                id: "1", type: "a", subject: nil, time: 0, attributes: [KeyValue("source", source)],
                data: Array("null".utf8))
        }
        #expect(!events[0].hasSource(of: events[1]) && events[0].hasSource(of: events[0]))
        #expect(EventID.header("a.b%2E") == "a%2Eb%252E")
        #expect(EventID.header(qualified) == qualified)
        #expect(EventID.header(String(repeating: ".", count: 128)).utf8.count <= EventID.maxHeaderBytes)
    }

    @Test(
        "ids have their prefix and 26 digits of Crockford's base 32, and those of an app sort by creation"
    )
    func ulids() {
        let ids = ULIDGenerator()
        var made: [String] = []
        for time: Int64 in [
            1_760_000_000_000, 1_760_000_000_001, 1_760_000_000_001, 1_759_999_999_000, 1_760_000_000_002,
        ] {
            for _ in 0..<200 { made.append(ids.next("evt_", time: time, of: .default)) }
        }
        #expect(made == made.sorted())
        #expect(Set(made).count == made.count)
        let digits = Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        #expect(
            made.allSatisfy {
                $0.hasPrefix("evt_") && $0.utf8.count == 30 && $0.dropFirst(4).allSatisfy(digits.contains)
            })
    }

    @Test("ids reveal nothing about ids created for other apps")
    func independentULIDs() throws {
        let ids = ULIDGenerator()
        let time: Int64 = 1_760_000_000_000
        func next(_ app: Int64, _ time: Int64) throws -> (time: Int64, high: UInt16, low: UInt64) {
            let id = ids.next("evt_", time: time, of: AppKey(rawValue: app))
            return try #require(ULIDGenerator.parts(of: id.dropFirst(4).utf8))
        }
        let first = try next(2, time)
        for app: Int64 in 3...100 { _ = try next(app, time + 5) }
        let second = try next(2, time)
        #expect(second == (first.time, first.high, first.low &+ 1), "the count and the time are its own")
        let starts = try (0..<200).map { try next($0 + 200, time).low }
        #expect(Set(starts.map { $0 >> 32 }).count == starts.count, "no two generators begin near each other")
        let random = (0..<200).map { _ in ids.next("req_", time: time) }
        let parts = random.compactMap { ULIDGenerator.parts(of: $0.dropFirst(4).utf8) }
        #expect(parts.allSatisfy { $0.time == time })
        #expect(Set(parts.map { $0.low >> 32 }).count == random.count)
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
