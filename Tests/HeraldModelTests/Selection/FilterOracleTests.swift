import HeraldModel
import HeraldTestSupport
import Testing

@Suite("Filters beside a naive one")
struct FilterOracleTests {
    private static let keys = ["a", "b", "c", "d"]

    @Test("random filters accept the same random events")
    func same() throws {
        var random = SeededRandom(seed: 11)
        var matched = 0
        for _ in 0..<6_000 {
            let naive = filter(2, Self.keys, &random)
            let (filter, errors) = compileFilter(#"{"data":\#(naive.json)}"#)
            guard let filter else {
                Issue.record("\(naive.json) is refused: \(errors)")
                continue
            }
            for _ in 0..<4 {
                let data = object(2, &random)
                let view = EventView(Event("a.b", data: data.json))
                let matches = filter.matches(view)
                matched += matches ? 1 : 0
                #expect(matches == naive.matches(data), "\(naive.json) of \(data.json)")
                #expect((filter.mismatch(view) == nil) == matches)
            }
        }
        #expect(matched > 1_000)
    }

    // MARK: Filters

    /// Alternatives name other members than the object that has them: two conditions on one member that stand apart may match
    /// different elements of an array, where the naive filter has only one.
    private func filter(_ depth: Int, _ keys: [String], _ random: inout SeededRandom) -> NaiveFilter {
        var filter = NaiveFilter()
        var rest: [String] = []
        for key in keys {
            guard random.number(0...2) == 0 else {
                rest.append(key)
                continue
            }
            let isObject = depth > 0 && random.number(0...2) == 0
            filter.members.append(
                (
                    key,
                    isObject
                        ? .object(self.filter(depth - 1, Self.keys, &random))
                        : .values((0...random.number(0...1)).map { _ in condition(&random) })
                ))
        }
        if depth > 0, !rest.isEmpty, random.number(0...1) == 0 {
            filter.alternatives = (0...random.number(1...2)).map { _ in self.filter(depth - 1, rest, &random) }
        }
        if filter.members.isEmpty && filter.alternatives.isEmpty {
            filter.members = [(keys[0], .values([condition(&random)]))]
        }
        return filter
    }

    private func condition(_ random: inout SeededRandom) -> NaiveFilter.Condition {
        switch random.number(0...10) {
        case 0, 1: .equal(scalar(&random))
        case 2: .text("wildcard", pattern(&random))
        case 3: .text(random.number(0...1) == 0 ? "prefix" : "suffix", text(&random))
        case 4: .ignoringCase(["", "prefix", "suffix"][random.number(0...2)], text(&random))
        case 5: .numeric(random.number(0...1) == 0 ? "<" : ">=", random.number(-1...3))
        case 6: .exists(random.number(0...1) == 0)
        case 7: .text("cidr", "10.0.\(random.number(0...3)).0/\(random.number(20...24))")
        case 8: .except((0...random.number(0...2)).map { _ in .equal(scalar(&random)) })
        case 9: .except((0...random.number(0...2)).map { _ in .text("wildcard", pattern(&random)) })
        default: .except((0...random.number(0...2)).map { _ in .ignoringCase("", text(&random)) })
        }
    }

    private func pattern(_ random: inout SeededRandom) -> String {
        var pattern = ""
        for _ in 0..<random.number(0...6) {
            switch random.number(0...6) {
            case 0, 1, 2: if pattern.last != "*" || pattern.hasSuffix("\\*") { pattern += "*" }
            case 3: pattern += "\\*"
            default: pattern += random.number(0...2) == 0 ? "b" : "a"
            }
        }
        return pattern
    }

    // MARK: Events

    private func text(_ random: inout SeededRandom) -> String {
        if random.number(0...5) == 0 { return "10.0.\(random.number(0...3)).\(random.number(0...255))" }
        let letters = ["a", "a", "a", "b", "A", "*", "é", "É", "\u{212A}", "k"]
        return (0..<random.number(0...6)).map { _ in letters[random.number(0...letters.count - 1)] }.joined()
    }

    private func scalar(_ random: inout SeededRandom) -> NaiveValue {
        switch random.number(0...3) {
        case 0: .number(random.number(0...2))
        case 1: .other(["true", "false", "null"][random.number(0...2)])
        default: .text(text(&random))
        }
    }

    private func object(_ depth: Int, _ random: inout SeededRandom) -> NaiveValue {
        var members: [(key: String, value: NaiveValue)] = []
        for key in Self.keys where random.number(0...3) > 0 { members.append((key, value(depth - 1, &random))) }
        return .object(members)
    }

    /// An array holds only scalars or only objects, since the two matchers take the mixture apart in different ways.
    private func value(_ depth: Int, _ random: inout SeededRandom) -> NaiveValue {
        switch random.number(0...5) {
        case 0 where depth > 0: object(depth, &random)
        case 1 where depth > 0: .array((0...random.number(0...1)).map { _ in object(depth, &random) })
        case 2: .array((0..<random.number(0...3)).map { _ in scalar(&random) })
        case 3: .array([.array((0...random.number(0...1)).map { _ in scalar(&random) })])
        default: scalar(&random)
        }
    }
}
