import HeraldJSON

/// Parses a string with placeholders.
struct TemplateParser {
    private let bytes: [UInt8]
    private var at = 0
    private let scope: TemplateScope

    private static let maxNameBytes = 128
    private static let maxSteps = 32
    private static let maxFunctions = 8
    private static let maxCharacters = 100_000
    private static let maxSeparatorBytes = 64

    init(_ text: String, _ scope: TemplateScope) {
        bytes = Array(text.utf8)
        self.scope = scope
    }

    /// The parts of the text; empty for an empty text.
    static func pieces(_ text: String, _ scope: TemplateScope) throws(TextError) -> [TemplatePiece] {
        var parser = TemplateParser(text, scope)
        return try parser.pieces()
    }

    /// A path alone, as directives have it: `data.items`.
    static func path(_ text: String, _ scope: TemplateScope) throws(TextError) -> TemplatePath {
        var parser = TemplateParser(text, scope)
        parser.skipSpaces()
        let path = try parser.path()
        parser.skipSpaces()
        guard parser.at == parser.bytes.count else {
            throw TextError("must be a path such as data.items, without anything else")
        }
        return path
    }

    static func hasPlaceholder(_ text: String) -> Bool {
        let bytes = text.utf8
        return zip(bytes, bytes.dropFirst()).contains { $0 == UInt8(ascii: "{") && $1 == UInt8(ascii: "{") }
    }

    private mutating func pieces() throws(TextError) -> [TemplatePiece] {
        var pieces: [TemplatePiece] = []
        var start = 0
        while at < bytes.count {
            guard isNext("{{") else {
                at += 1
                continue
            }
            if start < at { pieces.append(.text(Array(bytes[start..<at]))) }
            at += 2
            pieces.append(.value(try expression()))
            start = at
        }
        if start < at { pieces.append(.text(Array(bytes[start..<at]))) }
        return pieces
    }

    // MARK: Expressions

    /// Reads up to and including `}}`.
    private mutating func expression() throws(TextError) -> TemplateExpression {
        var operands = [try operand()]
        while take("??") { operands.append(try operand()) }
        var functions: [TemplateFunction] = []
        while take("|") {
            functions.append(try function())
            guard functions.count <= Self.maxFunctions else {
                throw TextError("has more than \(Self.maxFunctions) functions in one placeholder")
            }
        }
        guard take("}}") else {
            throw TextError(
                at < bytes.count
                    ? "has an unexpected \(nextCharacter) in a placeholder, where ??, | or }} could follow"
                    : "has a placeholder without }}")
        }
        return TemplateExpression(operands: operands, functions: functions)
    }

    private mutating func operand() throws(TextError) -> TemplateExpression.Operand {
        skipSpaces()
        guard at < bytes.count else { throw TextError("has a placeholder without }}") }
        switch bytes[at] {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .literal(.text(try quoted()))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .literal(.json(try number()))
        default: break
        }
        let start = at
        let word = name()
        switch word {
        case "true", "false", "null":
            guard let value = try? JSONDocument(parsing: word).root else { return .literal(.missing) }
            return .literal(.json(value))
        case "":
            throw TextError(
                isNext("}}")
                    ? "has an empty placeholder" : "has an unexpected \(nextCharacter), where a path must begin")
        default:
            at = start
            return .path(try path())
        }
    }

    private mutating func number() throws(TextError) -> JSONValue {
        let start = at
        while at < bytes.count, isDigit(bytes[at]) || "+-.eE".utf8.contains(bytes[at]) { at += 1 }
        guard let value = try? JSONDocument(parsing: Array(bytes[start..<at])).root else {
            throw TextError("has the number \(text(start..<at)), which is not one of JSON")
        }
        return value
    }

    // MARK: Paths

    private mutating func path() throws(TextError) -> TemplatePath {
        let begin = at
        let word = name()
        guard !word.isEmpty else {
            throw TextError("must be a path such as data.items")
        }
        let start = try scope.start(word)
        var steps: [TemplatePath.Step] = []
        while at < bytes.count {
            if isNext(".") {
                at += 1
                let key = name()
                guard !key.isEmpty else {
                    throw TextError(
                        "needs a name after the full stop in \(text(begin..<at)); ['odd name'] takes any")
                }
                steps.append(.member(key))
            } else if isNext("[") {
                at += 1
                steps.append(try subscripted(in: begin))
            } else {
                break
            }
            guard steps.count <= Self.maxSteps else {
                throw TextError("has a path of more than \(Self.maxSteps) steps")
            }
        }
        if case .root(let root) = start, !steps.isEmpty, root != .data, root != .delegate {
            throw TextError("uses \(text(begin..<at)), but \(root.rawValue) has no members")
        }
        return TemplatePath(start: start, steps: steps, text: text(begin..<at))
    }

    private mutating func subscripted(in begin: Int) throws(TextError) -> TemplatePath.Step {
        let step: TemplatePath.Step
        if isNext("'") || isNext("\"") {
            step = .member(try quoted())
        } else {
            let start = at
            while at < bytes.count, isDigit(bytes[at]) { at += 1 }
            guard (1...6).contains(at - start), let index = Int(text(start..<at)) else {
                throw TextError("needs a number or a name in quotes after [ in \(text(begin..<at))")
            }
            step = .index(index)
        }
        guard isNext("]") else { throw TextError("has a [ without a ] in \(text(begin..<at))") }
        at += 1
        return step
    }

    // MARK: Functions

    private mutating func function() throws(TextError) -> TemplateFunction {
        skipSpaces()
        let name = name()
        switch name {
        case "json": return .json
        case "upper": return .upper
        case "lower": return .lower
        case "unix": return .unix
        case "iso": return .iso
        case "truncate":
            skipSpaces()
            let start = at
            while at < bytes.count, isDigit(bytes[at]) { at += 1 }
            guard let count = Int(text(start..<at)), (1...Self.maxCharacters).contains(count) else {
                throw TextError("needs a number from 1 to \(Self.maxCharacters) after truncate")
            }
            return .truncate(count)
        case "escape":
            skipSpaces()
            let kind = self.name()
            guard let escape = TemplateFunction.Escape(rawValue: kind) else {
                let known = TemplateFunction.Escape.allCases.map(\.rawValue).joined(separator: ", ")
                throw TextError("needs one of these after escape: \(known)")
            }
            return .escape(escape)
        case "join":
            skipSpaces()
            guard isNext("'") || isNext("\"") else {
                throw TextError("needs a text in quotes after join, such as join ', '")
            }
            let separator = try quoted()
            guard separator.utf8.count <= Self.maxSeparatorBytes else {
                throw TextError("has more than \(Self.maxSeparatorBytes) bytes after join")
            }
            return .join(separator)
        default:
            throw TextError(
                "uses the function \(name.isEmpty ? nextCharacter : name), which does not exist; functions are: "
                    + TemplateFunction.names)
        }
    }

    // MARK: Words

    /// A text in quotes of either kind; it ends at the next one of this kind.
    private mutating func quoted() throws(TextError) -> String {
        let quote = bytes[at]
        at += 1
        let start = at
        while at < bytes.count, bytes[at] != quote { at += 1 }
        guard at < bytes.count else { throw TextError("has a quote without an end in a placeholder") }
        defer { at += 1 }
        return text(start..<at)
    }

    /// Letters, digits, `_`, `-` and characters beyond ASCII; not a digit or `-` first. Empty if there is none.
    private mutating func name() -> String {
        let start = at
        while at < bytes.count, at - start < Self.maxNameBytes, Self.isNameByte(bytes[at], isFirst: at == start) {
            at += 1
        }
        return text(start..<at)
    }

    static func isName(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return (1...maxNameBytes).contains(bytes.count)
            && bytes.enumerated().allSatisfy { isNameByte($1, isFirst: $0 == 0) }
    }

    private static func isNameByte(_ byte: UInt8, isFirst: Bool) -> Bool {
        isLetter(byte) || byte == UInt8(ascii: "_") || byte >= 0x80
            || !isFirst && (isDigit(byte) || byte == UInt8(ascii: "-"))
    }

    private mutating func skipSpaces() {
        while at < bytes.count, bytes[at] == 0x20 || (0x09...0x0d).contains(bytes[at]) { at += 1 }
    }

    private func isNext(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[at...].starts(with: $0) }
    }

    /// Skips spaces and then the text; if it isn't there, only the spaces.
    private mutating func take(_ text: StaticString) -> Bool {
        skipSpaces()
        guard isNext(text) else { return false }
        at += text.utf8CodeUnitCount
        return true
    }

    private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private var nextCharacter: String {
        String(decoding: bytes[at...].prefix(4), as: UTF8.self).first.map(String.init) ?? "end"
    }
}
