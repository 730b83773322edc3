package import HeraldJSON
import HeraldRuntime

/// A text with placeholders: a header, a path, or a value of a query. Compiled once, immutable.
package struct TextTemplate: Sendable {
    /// The use of the text: which characters it may have, and how a value is put into it.
    package enum Use: Sendable {
        /// Visible ASCII, spaces and tabs.
        case header
        /// A path that begins with `/`. A value is percent-encoded as a part of one segment.
        case path
        /// A value of a query. The result is percent-encoded.
        case query
    }

    private let use: Use
    private let pieces: [TemplatePiece]
    private let pointer: String

    /// - Parameters:
    ///   - pointer: the pointer of the text, for the errors of both the template and of ``render(_:_:)``.
    package init(_ text: String, for use: Use, at pointer: String) throws(FieldError) {
        guard text.utf8.count <= TemplateLimits.textBytes else {
            throw FieldError(pointer, "must have at most \(TemplateLimits.textBytes) bytes")
        }
        let pieces: [TemplatePiece]
        do throws(TextError) {
            pieces = try TemplateParser.pieces(text, TemplateScope(hasAttempt: use == .header))
        } catch {
            throw FieldError(pointer, error.detail)
        }
        self.use = use
        self.pieces = pieces
        self.pointer = pointer
        if let problem { throw FieldError(pointer, problem) }
    }

    /// Why the text around the placeholders is invalid.
    private var problem: String? {
        let literals = pieces.compactMap { if case .text(let bytes) = $0 { bytes } else { nil } }
        switch use {
        case .header:
            for literal in literals {
                if let problem = HeaderText.problem(of: literal[...]) { return problem }
            }
            return nil
        case .path:
            guard case .text(let first)? = pieces.first, first.first == UInt8(ascii: "/") else {
                return "must begin with /"
            }
            for literal in literals {
                if let problem = PathText.problem(ofLiteral: literal) { return problem }
            }
            // With a value that is neither empty nor dots.
            let example = pieces.reduce(into: [UInt8]()) { path, piece in
                if case .text(let bytes) = piece { path += bytes } else { path.append(UInt8(ascii: "x")) }
            }
            return PathText.problem(ofPath: example)
        case .query: return nil
        }
    }

    /// The text that the template makes of an event.
    /// - Parameter budget: ``TemplateLimits/steps`` for all templates of a request.
    /// - Returns: for a path and for a value of a query, percent-encoded; for a header, without white space at its ends. May
    ///   be empty for a header or a query.
    package func render(_ roots: TemplateRoots, _ budget: inout WorkBudget) throws(FieldError) -> String {
        var renderer = TemplateRenderer(roots, budget)
        defer { budget = renderer.budget }
        var result: [UInt8] = []
        for piece in pieces {
            switch piece {
            case .text(let bytes) where use == .query: result += encoded(bytes)
            case .text(let bytes): result += bytes
            case .value(let expression):
                let value = Array(try renderer.text(of: expression, at: pointer).utf8)
                guard value.count <= TemplateLimits.textBytes else { throw tooLong }
                if use == .path, value.isEmpty { throw FieldError(pointer, "has a placeholder without a value") }
                result += use == .header ? value : encoded(value)
            }
            guard result.count <= TemplateLimits.textBytes else { throw tooLong }
        }
        if use == .header {
            result = Array(result.trimmed { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
            if let problem = HeaderText.problem(of: result[...]) { throw FieldError(pointer, problem) }
        } else if use == .path, let problem = PathText.problem(ofPath: result) {
            throw FieldError(pointer, problem)
        }
        return String(decoding: result, as: UTF8.self)
    }

    private var tooLong: FieldError {
        FieldError(pointer, "makes more than \(TemplateLimits.textBytes) bytes")
    }

    private func encoded(_ bytes: [UInt8]) -> [UInt8] {
        bytes.reduce(into: []) { URLPart.append($1, to: &$0) }
    }
}

/// The rules for values of headers that are made from events.
private enum HeaderText {
    static func problem(of bytes: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let odd = text.unicodeScalars.first(where: { !(0x20...0x7e).contains($0.value) && $0 != "\t" }) else {
            return nil
        }
        let code = String(odd.value, radix: 16, uppercase: true)
        let padded = String(repeating: "0", count: max(0, 4 - code.count)) + code
        return "has the character U+\(padded), which a header can't have; | escape url encodes it"
    }
}

/// The rules for paths that are made from events: whatever a value is, it stays within its segment.
private enum PathText {
    /// Why the text between placeholders is invalid.
    static func problem(ofLiteral bytes: [UInt8]) -> String? {
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%") {
                guard index + 2 < bytes.count, hexadecimalDigit(bytes[index + 1]) != nil,
                    hexadecimalDigit(bytes[index + 2]) != nil
                else { return "has a % without two hexadecimal digits" }
                index += 3
                continue
            }
            guard isPathByte(bytes[index]) else {
                return "has a character that must be percent-encoded in a path; ? and # can't be part of it"
            }
            index += 1
        }
        return nil
    }

    /// Why a whole path is invalid.
    static func problem(ofPath bytes: [UInt8]) -> String? {
        let segments = bytes.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            if segment.isEmpty, index < segments.count - 1 { return "has an empty segment" }
            if isDots(segment) { return "has a segment that is . or .., which would lead to another path" }
        }
        return nil
    }

    /// Also with `%2e`, which servers and libraries treat alike.
    private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
        guard (1...6).contains(segment.count) else { return false }
        var rest = segment
        var dots = 0
        while !rest.isEmpty {
            if rest.first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if rest.starts(with: "%2e".utf8) || rest.starts(with: "%2E".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return false
            }
            dots += 1
        }
        return dots <= 2
    }

    /// The characters of RFC 3986, 3.3, and `/`.
    private static func isPathByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || "-._~!$&'()*+,;=:@/".utf8.contains(byte)
    }
}
