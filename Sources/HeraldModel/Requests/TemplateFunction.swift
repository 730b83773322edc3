import HeraldJSON

/// A function after `|` in a placeholder.
enum TemplateFunction: Sendable {
    /// The characters that are escaped, so that a value is text and nothing else.
    enum Escape: String, CaseIterable, Sendable {
        /// `&`, `<` and `>`: in Slack's texts the characters of links, mentions and channels.
        case slack
        /// `&`, `<`, `>` and both quotes.
        case html
        /// Everything but letters, digits and `-._~` as `%C3%BC`: a part of a URL.
        case url
        /// Backticks as `\u0060`: JSON stays JSON, and within its block of code.
        case code
    }

    case json
    /// At most so many characters; the last one is `…` if there were more.
    case truncate(Int)
    case upper, lower
    case escape(Escape)
    /// RFC 3339 to seconds since 1970.
    case unix
    /// Seconds since 1970, milliseconds if the number is 10¹¹ or more, or RFC 3339, to RFC 3339 in UTC.
    case iso
    case join(String)

    static let names = "json, truncate, upper, lower, escape, unix, iso, join"

    /// Nothing is made of a missing value, or of `null`, except by `json`.
    /// - Parameter next: the function after it. Of a long text, `truncate` needs the start.
    /// - Returns: `nil` if the budget is exhausted.
    func apply(
        to value: TemplateValue, before next: TemplateFunction?, _ budget: inout WorkBudget
    ) -> TemplateValue? {
        if case .json = self {
            // One character more, of four bytes at most: `truncate` must see that there are more.
            if case .truncate(let count) = next { return Self.jsonText(of: value, 4 * (count + 1), &budget) }
            return Self.jsonText(of: value, .max, &budget)
        }
        guard value.isPresent else { return .missing }
        switch self {
        case .json: return nil
        case .unix:
            guard budget.spend(Self.timeSteps) else { return nil }
            return Self.time(of: value).map { .integer($0.milliseconds.flooredSeconds) } ?? .missing
        case .iso:
            guard budget.spend(Self.timeSteps) else { return nil }
            return Self.time(of: value).map { .text($0.description) } ?? .missing
        case .join(let separator): return Self.joined(value, separator, &budget)
        case .truncate, .upper, .lower, .escape:
            guard let text = value.text(&budget) else { return nil }
            return apply(to: text, &budget).map(TemplateValue.text)
        }
    }

    private func apply(to text: String, _ budget: inout WorkBudget) -> String? {
        switch self {
        case .truncate(let count):
            guard budget.spend(1 + min(text.utf8.count, 4 * count) / 4) else { return nil }
            return Self.truncated(text, count)
        case .upper:
            guard budget.spend(1 + text.utf8.count) else { return nil }
            return text.uppercased()
        case .lower:
            guard budget.spend(1 + text.utf8.count) else { return nil }
            return text.lowercased()
        case .escape(let escape):
            guard budget.spend(1 + text.utf8.count) else { return nil }
            return escape.apply(to: text)
        case .json, .unix, .iso, .join: return text
        }
    }

    private static func jsonText(
        of value: TemplateValue, _ maxBytes: Int, _ budget: inout WorkBudget
    ) -> TemplateValue? {
        switch value {
        case .missing: return .text("null")
        case .integer(let number): return .text(String(number))
        case .json(let value):
            guard budget.spend(1 + min(value.byteRange.count, maxBytes) / 16) else { return nil }
            return .text(value.withBytes { String(decoding: $0.prefix(maxBytes), as: UTF8.self) })
        case .text(let text):
            guard budget.spend(1 + text.utf8.count / 2) else { return nil }
            return .text(String(decoding: JSONWriter.document(of: text), as: UTF8.self))
        }
    }

    private static func joined(
        _ value: TemplateValue, _ separator: String, _ budget: inout WorkBudget
    ) -> TemplateValue? {
        guard case .json(let array) = value, array.kind == .array else { return value.text(&budget).map { .text($0) } }
        var text = ""
        var isFirst = true
        for element in array.elements {
            guard budget.spend(3 + separator.utf8.count / 16), let part = TemplateValue.json(element).text(&budget)
            else { return nil }
            if !isFirst { text += separator }
            text += part
            isFirst = false
        }
        return .text(text)
    }

    private static func truncated(_ text: String, _ count: Int) -> String {
        let scalars = text.unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: count, limitedBy: scalars.endIndex),
            end != scalars.endIndex
        else { return text }
        return String(scalars[..<scalars.index(before: end)]) + "…"
    }

    private static let leastMilliseconds = 1e11
    /// Reading a number takes 1.5 µs.
    private static let timeSteps = 80

    /// Longer texts are neither a time nor a number of this size.
    private static let maxTimeBytes = 64

    private static func time(of value: TemplateValue) -> Timestamp? {
        switch value {
        case .missing: return nil
        case .text(let text): return Timestamp(rfc3339: text)
        case .integer(let number): return time(Double(number))
        case .json(let value):
            guard value.byteRange.count <= maxTimeBytes else { return nil }
            return value.timestamp ?? value.double.flatMap(time)
        }
    }

    /// `nil` outside the years 1 to 9999. Milliseconds of these years fit into a `Double` exactly.
    private static func time(_ number: Double) -> Timestamp? {
        let milliseconds = (number.magnitude >= leastMilliseconds ? number : number * 1000).rounded(.down)
        guard let whole = Int64(exactly: milliseconds) else { return nil }
        let time = Timestamp(milliseconds: whole)
        return (Timestamp.earliest...Timestamp.latest).contains(time) ? time : nil
    }
}

extension TemplateFunction.Escape {
    func apply(to text: String) -> String {
        let input = text.utf8
        var output: [UInt8] = []
        output.reserveCapacity(input.count + input.count / 8)
        for byte in input {
            switch (self, byte) {
            case (.url, _): URLPart.append(byte, to: &output)
            case (.code, UInt8(ascii: "`")): output += #"\u0060"#.utf8
            case (.code, _): output.append(byte)
            case (_, UInt8(ascii: "&")): output += "&amp;".utf8
            case (_, UInt8(ascii: "<")): output += "&lt;".utf8
            case (_, UInt8(ascii: ">")): output += "&gt;".utf8
            case (.html, UInt8(ascii: "\"")): output += "&quot;".utf8
            case (.html, UInt8(ascii: "'")): output += "&#39;".utf8
            default: output.append(byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

extension TemplateValue {
    /// The value in a text: a string without quotes, anything else as JSON, and nothing for `null`.
    /// - Returns: `nil` if the budget is exhausted.
    func text(_ budget: inout WorkBudget) -> String? {
        switch self {
        case .missing: return ""
        case .text(let text): return text
        case .integer(let number): return String(number)
        case .json(let value):
            guard budget.spend(1 + value.byteRange.count / 16) else { return nil }
            if value.isNull { return "" }
            return value.string ?? value.withBytes { String(decoding: $0, as: UTF8.self) }
        }
    }
}

extension Int64 {
    /// Seconds of milliseconds, rounded down.
    fileprivate var flooredSeconds: Int64 { self >= 0 ? self / 1000 : (self - 999) / 1000 }
}
