import HeraldJSON
import HeraldModel

/// The parameters of a query string, decoded once.
struct Query {
    private let parameters: [(name: String, value: String)]

    /// - Throws: 400 if it is not properly escaped, 422 if a name is unknown or appears twice, so that no typo goes
    ///   unnoticed. What follows too many wrong names is not read.
    init(_ text: String?, known: [String]) throws(Problem) {
        var parameters: [(name: String, value: String)] = []
        var wrong: [Problem.Item] = []
        for pair in (text ?? "").split(separator: "&") {
            // No key is needed to send thousands of names, and a loop's thread reads them.
            if wrong.count == FieldError.maxReported { break }
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name: String
            let value: String
            do throws(PercentEncoding.Failure) {
                name = try PercentEncoding.decode(parts[0], plusIsSpace: true)
                value = try PercentEncoding.decode(parts.count > 1 ? parts[1] : "", plusIsSpace: true)
            } catch {
                throw .malformedPath("The query \(error.rawValue).")
            }
            if !known.contains(name) {
                let list = known.isEmpty ? "none" : known.joined(separator: ", ")
                wrong.append(
                    .init(
                        place: .parameter(name), detail: "is not a parameter of this operation; parameters are: \(list)"
                    ))
            } else if parameters.contains(where: { $0.name == name }) {
                wrong.append(.init(place: .parameter(name), detail: "is given twice"))
            }
            parameters.append((name, value))
        }
        guard wrong.isEmpty else { throw .validation(wrong) }
        self.parameters = parameters
    }

    var names: [String] { parameters.map(\.name) }

    subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// `limit`: 1 to 200, by default 50.
    func limit() throws(Problem) -> Int { try number("limit", 1...200) ?? 50 }

    /// `type`: a pattern or several, with commas; empty for all types.
    func types() throws(Problem) -> [EventPattern] {
        let patterns = try list("type", "must be \(EventPattern.words); or several, with commas") { EventPattern($0) }
        guard patterns.count <= Self.maxTypes else {
            throw .invalidParameter("type", "must name at most \(Self.maxTypes) types")
        }
        // `*` is every type here.
        return patterns.contains(.any) ? [] : patterns
    }

    private static let maxTypes = 50

    /// The parameter `error`: one class or several, with commas.
    func deliveryErrors() throws(Problem) -> [DeliveryError] {
        try list("error", "must be " + DeliveryError.words + "; or several, with commas") { DeliveryError($0) }
    }

    /// Values with commas between them; empty without the parameter.
    /// - Parameter detail: of the problem if `make` returns `nil`.
    func list<Value>(_ name: String, _ detail: String, _ make: (String) -> Value?) throws(Problem) -> [Value] {
        guard let text = self[name] else { return [] }
        var values: [Value] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let value = make(String(word)) else { throw .invalidParameter(name, detail) }
            values.append(value)
        }
        return values
    }

    /// The cursor of a list that is ordered by id: an id.
    /// - Parameter prefix: the prefix of the ids, such as `dlg_`, before 26 characters.
    func cursor(ofIDs prefix: String) throws(Problem) -> String? {
        guard let cursor = self["cursor"] else { return nil }
        guard cursor.hasPrefix(prefix), cursor.utf8.count == prefix.utf8.count + 26 else { throw .noCursor }
        return cursor
    }

    /// `wait`: at most 60 seconds; `nil` without it, and for 0.
    func wait() throws(Problem) -> Int? {
        let seconds = try value("wait", "must be a number of seconds from 0 to 60") { text in
            Int(text).flatMap { (0...60).contains($0) ? $0 : nil }
        }
        return seconds == 0 ? nil : seconds
    }

    /// A number in a range, if it is given.
    func number(_ name: String, _ range: ClosedRange<Int>) throws(Problem) -> Int? {
        try value(name, "must be a number from \(range.lowerBound) to \(range.upperBound)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// `true` or `false`; nothing else.
    func flag(_ name: String) throws(Problem) -> Bool { try value(name, "must be true or false") { Bool($0) } ?? false }

    /// An RFC 3339 time in milliseconds.
    func time(_ name: String) throws(Problem) -> Int64? {
        try value(name, "must be an RFC 3339 time, such as 2026-01-31T12:00:00Z") { text in
            Timestamp(rfc3339: text)?.milliseconds
        }
    }

    /// The value of a parameter; `nil` without the parameter.
    /// - Parameter detail: of the problem if `make` returns `nil`.
    func value<Value>(
        _ name: String, _ detail: @autoclosure () -> String, _ make: (String) -> Value?
    ) throws(Problem) -> Value? {
        guard let text = self[name] else { return nil }
        guard let value = make(text) else { throw .invalidParameter(name, detail()) }
        return value
    }

    /// The query with another position, for the link to the next page.
    /// - Parameter name: `cursor` or `after`.
    func with(_ name: String, _ position: String) -> String {
        (parameters.filter { $0.name != name } + [(name, position)])
            .map { URLPart.encoded($0.name) + "=" + URLPart.encoded($0.value) }.joined(separator: "&")
    }
}

/// RFC 3986.
enum PercentEncoding {
    /// The error, after "The path" or "The query".
    enum Failure: String, Error {
        case escape = "has a % without two hexadecimal digits behind it"
        case nul = "has %00, the character NUL, which nothing here contains"
        case encoding = "is not UTF-8 once its escapes are decoded"
    }

    static func decode(_ text: some StringProtocol, plusIsSpace: Bool = false) throws(Failure) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(hexadecimalDigit),
                    let low = rest.popFirst().flatMap(hexadecimalDigit)
                else { throw .escape }
                let decoded = high << 4 | low
                guard decoded != 0 else { throw .nul }
                bytes.append(decoded)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw .encoding }
        return text
    }
}
