import HeraldTestSupport

/// Random templates and events for them. Most are valid; paths mostly lead to a value.
struct RandomTemplates {
    var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    private mutating func pick<Value>(_ values: [Value]) -> Value { values[random.number(0...values.count - 1)] }

    // MARK: Events

    private static let names = ["a", "b", "c", "odd name", "list", "text", "zoë"]
    private static let texts = [
        "", "x", "Zoë & <co>", "line\nbreak\u{1}", "quote \" and \\ backslash", "{{ data.a }}", "}}", "😀😀",
        "2026-01-02T03:04:05Z",
        "ﬀ İ ß", "\u{2028}", ".", "..", "/../x?y#z",
    ]

    mutating func event() -> String { value(random.number(0...5)) }

    private mutating func value(_ depth: Int) -> String {
        switch random.number(0...(depth > 0 ? 8 : 4)) {
        case 0: return pick(["null", "true", "false"])
        case 1: return pick(["0", "-1.50", "8202522731445525542", "1e3", "1760000000", "0.1e-9"])
        case 2, 3: return quoted(pick(Self.texts))
        case 4: return quoted(String(repeating: pick(["x", "é", "<", "\""]), count: random.number(0...200)))
        case 5, 6:
            let count = random.chance(0.02) ? random.number(90...110) : random.number(0...5)
            return "[" + (0..<count).map { _ in value(depth - 1) }.joined(separator: ",") + "]"
        default:
            let names = Self.names.shuffled(using: &random).prefix(random.number(0...5))
            return "{" + names.map { quoted($0) + ": " + value(depth - 1) }.joined(separator: ", ") + "}"
        }
    }

    private func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\u{1}": result += "\\u0001"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    // MARK: Templates

    mutating func template() -> String { node(random.number(0...6), elements: []) }

    private mutating func node(_ depth: Int, elements: [String]) -> String {
        switch random.number(0...(depth > 0 ? 12 : 3)) {
        case 0: return pick(["1.0", "null", "\"text\"", "\"{ {x} }\""])
        case 1, 2: return quoted(placeholder(elements))
        case 3: return quoted(string(elements))
        case 4, 5:
            let names = ["a", "b", "c", "d", "e/f"].shuffled(using: &random).prefix(random.number(0...4))
            return "{" + names.map { "\"\($0)\":" + node(depth - 1, elements: elements) }.joined(separator: ",") + "}"
        case 6:
            return "["
                + (0..<random.number(0...4)).map { _ in node(depth - 1, elements: elements) }.joined(separator: ",")
                + "]"
        case 7:
            let filter = pick([
                #"{"type":["order.paid"]}"#, #"{"data":{"a":[{"exists":true}]}}"#,
                #"{"subject":[{"prefix":"o"}],"data":{"text":[{"anything-but":["x"]}]}}"#,
            ])
            let otherwise = random.chance(0.5) ? ",\"else\":" + node(depth - 1, elements: elements) : ""
            return "{\"$if\":\(filter),\"then\":\(node(depth - 1, elements: elements))\(otherwise)}"
        case 8, 9:
            let name = "item\(elements.count)"
            let body = node(depth - 1, elements: elements + [name])
            return "{\"$each\":\(quoted(path(elements))),\"as\":\"\(name)\",\"do\":\(body)}"
        case 10: return "{\"$pick\":\(quoted(path(elements))),\"only\":[\"a\",\"list\",\"zoë\"]}"
        case 11: return "{\"$omit\":\(quoted(path(elements))),\"fields\":[\"a\",\"odd name\"]}"
        default:
            let parts = (0..<random.number(1...3)).map { _ in
                random.chance(0.3)
                    ? node(depth - 1, elements: elements)
                    : "{\"\(pick(Self.names))\":\(node(depth - 1, elements: elements))}"
            }
            return "{\"$merge\":[\(parts.joined(separator: ","))]}"
        }
    }

    private mutating func path(_ elements: [String]) -> String {
        var text = elements.isEmpty || random.chance(0.4) ? "data" : pick(elements)
        for _ in 0..<random.number(0...3) {
            text += pick([".a", ".b", ".list", ".text", "['odd name']", ".zoë", "[0]", "[1]", "[7]", "[\"c\"]"])
        }
        return random.chance(0.2)
            ? pick(["id", "type", "subject", "time", "source", "delegate.metadata"]) : text
    }

    private mutating func placeholder(_ elements: [String]) -> String {
        var text = path(elements)
        while random.chance(0.25) { text += " ?? " + pick([path(elements), "'none'", "7.50", "null", "\"\""]) }
        while random.chance(0.3) {
            text +=
                " | "
                + pick([
                    "json", "upper", "lower", "unix", "iso", "truncate \(random.number(1...20))", "escape slack",
                    "escape html", "escape url", "escape code", "join ', '", "join \"\"",
                ])
        }
        return "{{ \(text) }}"
    }

    private mutating func string(_ elements: [String]) -> String {
        (0..<random.number(0...4)).map { _ in
            random.chance(0.6) ? placeholder(elements) : pick(["x ", "é", "\"", "{", "}"])
        }
        .joined()
    }
}
