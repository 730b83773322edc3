/// A text of a scheme with placeholders, such as `t={timestamp},v1={signature}`.
struct SchemePattern: Sendable {
    enum Placeholder: String, CaseIterable, Sendable { case id, timestamp, body, url, form, signature }

    enum Part: Equatable, Sendable {
        case text([UInt8])
        case placeholder(Placeholder)
    }

    let parts: [Part]

    /// - Throws: a description of the error, to follow the name of the field.
    init(_ text: String, allowing allowed: [Placeholder]) throws(SchemeTextError) {
        var parts: [Part] = []
        var literal: [UInt8] = []
        var rest = Substring(text).utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "{") else {
                guard byte != UInt8(ascii: "}") else { throw SchemeTextError("has a } without a {") }
                literal.append(byte)
                continue
            }
            guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else {
                throw SchemeTextError("has a { without a }")
            }
            let name = String(decoding: rest[..<end], as: UTF8.self)
            guard let placeholder = Placeholder(rawValue: name), allowed.contains(placeholder) else {
                let known = allowed.map { "{\($0.rawValue)}" }.joined(separator: ", ")
                throw SchemeTextError("has the unknown placeholder {\(name)}; placeholders are: \(known)")
            }
            if !literal.isEmpty { parts.append(.text(literal)) }
            literal = []
            parts.append(.placeholder(placeholder))
            rest = rest[rest.index(after: end)...]
        }
        if !literal.isEmpty { parts.append(.text(literal)) }
        self.parts = parts
    }

    private init(parts: some Sequence<Part>) { self.parts = Array(parts) }

    func count(of placeholder: Placeholder) -> Int {
        parts.reduce(0) { $0 + ($1 == .placeholder(placeholder) ? 1 : 0) }
    }

    func contains(_ placeholder: Placeholder) -> Bool { count(of: placeholder) > 0 }

    /// Whether a text can be divided in only one way.
    var isUnambiguous: Bool {
        !zip(parts, parts.dropFirst()).contains { pair in
            if case (.placeholder, .placeholder) = pair { true } else { false }
        }
    }

    /// Divides a text by the pattern: each placeholder gets the text up to the next literal part.
    /// - Returns: the value of each placeholder; `nil` if the text does not have this form.
    func match(_ text: Substring) -> [Placeholder: Substring]? {
        var found: [Placeholder: Substring] = [:]
        var rest = text.utf8[...]
        var open: Placeholder?
        for part in parts {
            switch part {
            case .placeholder(let placeholder): open = placeholder
            case .text(let literal):
                guard let placeholder = open else {
                    guard rest.starts(with: literal) else { return nil }
                    rest = rest.dropFirst(literal.count)
                    continue
                }
                guard let start = rest.indices.first(where: { rest[$0...].starts(with: literal) }) else { return nil }
                found[placeholder] = Substring(rest[..<start])
                rest = rest[start...].dropFirst(literal.count)
                open = nil
            }
        }
        if let open { found[open] = Substring(rest) } else if !rest.isEmpty { return nil }
        return found
    }
}

extension SchemePattern {
    /// Where signatures of several keys are put.
    struct List {
        let separator: UInt8
        /// The parts of the value between the separators. One of them has the signature.
        let entries: [SchemePattern]
    }

    /// How the value holds several signatures; `nil` if it holds one.
    var list: List? {
        // v1,{signature}
        if parts.count == 2, case .text(let name) = parts[0], parts[1] == .placeholder(.signature),
            name.last == UInt8(ascii: ","), name.dropLast().allSatisfy(Self.isWordByte), name.count > 1
        {
            return List(separator: UInt8(ascii: " "), entries: [self])
        }
        // t={timestamp},v1={signature}
        for separator in [UInt8(ascii: ","), UInt8(ascii: ";")] {
            let entries = split(at: separator)
            if entries.count > 1, entries.allSatisfy(\.isNamed) { return List(separator: separator, entries: entries) }
        }
        return nil
    }

    /// Whether it is a name, `=`, and anything else.
    private var isNamed: Bool {
        guard case .text(let text)? = parts.first, let end = text.firstIndex(of: UInt8(ascii: "=")) else {
            return false
        }
        return end > 0 && text[..<end].allSatisfy(Self.isWordByte)
    }

    private func split(at separator: UInt8) -> [SchemePattern] {
        var entries: [[Part]] = [[]]
        for part in parts {
            guard case .text(let text) = part else {
                entries[entries.count - 1].append(part)
                continue
            }
            for (index, piece) in text.split(separator: separator, omittingEmptySubsequences: false).enumerated() {
                if index > 0 { entries.append([]) }
                if !piece.isEmpty { entries[entries.count - 1].append(.text(Array(piece))) }
            }
        }
        return entries.map(SchemePattern.init(parts:))
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
}

/// Why a text of a scheme is invalid.
struct SchemeTextError: Error {
    /// Follows the name of the field.
    let detail: String

    init(_ detail: String) { self.detail = detail }
}
