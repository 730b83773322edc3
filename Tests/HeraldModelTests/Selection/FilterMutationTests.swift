import HeraldJSON
import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Random filters")
struct FilterMutationTests {
    private static let filters = [
        #"{"type":["order.paid",{"prefix":"order."}],"data":{"user":{"plan":["pro",{"anything-but":["free",1]}]}}}"#,
        #"{"data":{"n":[{"numeric":[">",0,"<=",5.5]},{"exists":false},null],"s":[{"suffix":"z"},{"prefix":"a"}]}}"#,
        #"{"subject":[{"equals-ignore-case":"ABC"}],"data":{"l":{"x":[1e3,true]},"s":[{"anything-but":{"suffix":"q"}}]}}"#,
        #"{"$or":[{"data":{"$or":[{"s":[{"wildcard":"a*z*\\\\"}]},{"n":[{"exists":true}]}]}},{"source":[{"cidr":"10.0.0.0/8"}]}]}"#,
    ]
    private static let data = [
        #"{"user":{"plan":"pro"},"n":3,"s":"az","l":[{"x":1000},{"x":[true,1]}]}"#,
        #"[{"user":[{"plan":["\u0066ree"]}]},null,-0.0,1e999]"#, #"{"n":null,"s":"","l":{"x":[]}}"#,
    ]

    @Test("never crash, mean the same when stored, and explain exactly what they refuse")
    func mutations() throws {
        var random = SeededRandom(seed: 7)
        var compiled = 0
        var matched = 0
        for _ in 0..<20_000 {
            let text = mutated(Self.filters, &random)
            guard let document = try? JSONDocument(parsing: text) else { continue }
            var errors: [FieldError] = []
            let filter = ContentFilter(document.root, at: "", &errors)
            #expect((filter == nil) == !errors.isEmpty)
            guard let filter else { continue }
            compiled += 1
            let again = try #require(ContentFilter(text: filter.text))
            #expect(again == filter)
            let data = mutated(Self.data, &random)
            // The log only holds what the parser accepted; a filter must bear anything.
            let view = EventView(Event("order.paid", subject: "aBc", data: String(decoding: data, as: UTF8.self)))
            let matches = filter.matches(view)
            matched += matches ? 1 : 0
            #expect(again.matches(view) == matches && (filter.mismatch(view) == nil) == matches)
        }
        #expect(compiled > 1000 && matched > 100)
    }

    private func mutated(_ texts: [String], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = Array(texts[random.number(0...texts.count - 1)].utf8)
        let interesting = Array(#"{}[]:,"\u0e.-1tfn <>=*/$"#.utf8)
        for _ in 0..<random.number(0...3) where !bytes.isEmpty {
            let at = random.number(0...bytes.count - 1)
            switch random.number(0...3) {
            case 0: bytes.insert(interesting[random.number(0...interesting.count - 1)], at: at)
            case 1: bytes[at] = interesting[random.number(0...interesting.count - 1)]
            case 2: bytes.remove(at: at)
            default: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + random.number(1...12))], at: at)
            }
        }
        return bytes
    }
}
