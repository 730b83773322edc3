/// A JSON text as another encoder would have written it: what a receiver that decodes and encodes a body makes of it, and
/// what the sender may have sent. Works on the characters, and does not validate.
struct BodyVariant {
    enum Spacing: CaseIterable {
        /// As it is.
        case kept
        case compact
        /// `{"a": 1, "b": 2}`, as by Python.
        case spaced
        case indented2
        case indented4
    }

    enum Escapes: CaseIterable {
        /// As they are.
        case kept
        /// Characters beyond ASCII as they are, and `/` without a backslash.
        case fewest
        /// Characters beyond ASCII as `\u00e9`, as by Python.
        case ascii
        /// `/` as `\/`, and characters beyond ASCII as `\u00e9`, as by PHP.
        case slashes
    }

    let spacing: Spacing
    let escapes: Escapes

    /// Follows "it is right".
    var words: String {
        let spaces =
            switch spacing {
            case .kept: ""
            case .compact: "without spaces between its parts"
            case .spaced: "with a space after each colon and comma"
            case .indented2: "indented by two spaces"
            case .indented4: "indented by four spaces"
            }
        let texts =
            switch escapes {
            case .kept: ""
            case .fewest: "with characters beyond ASCII as they are"
            case .ascii: "with characters beyond ASCII as \\u escapes"
            case .slashes: "with \\/ for each slash"
            }
        return [spaces, texts].filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// `nil` if it is no object or array, or nothing is to be changed.
    func apply(to body: [UInt8]) -> [UInt8]? {
        guard body.first == UInt8(ascii: "{") || body.first == UInt8(ascii: "["), spacing != .kept || escapes != .kept
        else { return nil }
        var output = Output(variant: self)
        output.bytes.reserveCapacity(body.count + body.count / 4)
        var index = 0
        while index < body.count {
            let byte = body[index]
            guard byte == UInt8(ascii: "\"") else {
                output.structure(byte)
                index += 1
                continue
            }
            let start = index + 1
            index = start
            while index < body.count, body[index] != UInt8(ascii: "\"") {
                index += body[index] == UInt8(ascii: "\\") ? 2 : 1
            }
            output.text(body[start..<min(max(start, index), body.count)])
            index += 1
        }
        return output.bytes
    }

    private struct Output {
        let variant: BodyVariant
        var bytes: [UInt8] = []
        private var depth = 0
        /// A container was opened, and nothing is in it yet.
        private var isOpen = false

        init(variant: BodyVariant) { self.variant = variant }

        private var indent: Int {
            switch variant.spacing {
            case .indented2: 2
            case .indented4: 4
            case .kept, .compact, .spaced: 0
            }
        }

        mutating func structure(_ byte: UInt8) {
            guard variant.spacing != .kept else { return bytes.append(byte) }
            switch byte {
            case 0x09, 0x0a, 0x0d, 0x20: return
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                begin()
                bytes.append(byte)
                depth += 1
                isOpen = true
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth = max(0, depth - 1)
                if !isOpen { newLine() }
                isOpen = false
                bytes.append(byte)
            case UInt8(ascii: ","):
                bytes.append(byte)
                if variant.spacing == .spaced { bytes.append(0x20) } else { newLine() }
            case UInt8(ascii: ":"):
                bytes.append(byte)
                if variant.spacing != .compact { bytes.append(0x20) }
            default:
                begin()
                bytes.append(byte)
            }
        }

        /// - Parameter text: between the quotes.
        mutating func text(_ text: ArraySlice<UInt8>) {
            if variant.spacing != .kept { begin() }
            bytes.append(UInt8(ascii: "\""))
            switch variant.escapes {
            case .kept: bytes += text
            case .fewest: JSONEscapes.fewest(text, into: &bytes)
            case .ascii: JSONEscapes.ascii(text, escapesSlashes: false, into: &bytes)
            case .slashes: JSONEscapes.ascii(text, escapesSlashes: true, into: &bytes)
            }
            bytes.append(UInt8(ascii: "\""))
        }

        private mutating func begin() {
            if isOpen { newLine() }
            isOpen = false
        }

        private mutating func newLine() {
            guard indent > 0 else { return }
            bytes.append(UInt8(ascii: "\n"))
            // The depth of a body is not bounded here; what is deeper is not written by hand.
            bytes += repeatElement(0x20, count: indent * min(depth, 64))
        }
    }
}

/// Strings of JSON with other escapes. The texts are those between the quotes.
private enum JSONEscapes {
    static func fewest(_ text: ArraySlice<UInt8>, into bytes: inout [UInt8]) {
        var index = text.startIndex
        while index < text.endIndex {
            guard text[index] == UInt8(ascii: "\\"), index + 1 < text.endIndex else {
                bytes.append(text[index])
                index += 1
                continue
            }
            if text[index + 1] == UInt8(ascii: "/") {
                bytes.append(UInt8(ascii: "/"))
                index += 2
            } else if let (scalar, length) = scalar(text, at: index), scalar.value >= 0x80 {
                bytes += UTF8.encode(scalar).map(Array.init) ?? []
                index += length
            } else {
                bytes += text[index...index + 1]
                index += 2
            }
        }
    }

    static func ascii(_ text: ArraySlice<UInt8>, escapesSlashes: Bool, into bytes: inout [UInt8]) {
        var plain: [UInt8] = []
        fewest(text, into: &plain)
        for scalar in String(decoding: plain, as: UTF8.self).unicodeScalars {
            if escapesSlashes, scalar == "/" {
                bytes += Array("\\/".utf8)
            } else if scalar.isASCII {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
                    bytes += Array("\\u".utf8)
                    bytes += Hex.encode([UInt8(unit >> 8), UInt8(truncatingIfNeeded: unit)]).utf8
                }
            }
        }
    }

    /// The character of `\u00e9`, or of a pair of them, and the length of the escape.
    private static func scalar(_ text: ArraySlice<UInt8>, at index: Int) -> (Unicode.Scalar, length: Int)? {
        func unit(at index: Int) -> UInt32? {
            guard index + 6 <= text.endIndex, text[index] == UInt8(ascii: "\\"), text[index + 1] == UInt8(ascii: "u"),
                let bytes = Hex.decode(String(decoding: text[index + 2..<index + 6], as: UTF8.self).lowercased())
            else { return nil }
            return UInt32(bytes[0]) << 8 | UInt32(bytes[1])
        }
        guard let first = unit(at: index) else { return nil }
        guard first & 0xfc00 == 0xd800 else { return Unicode.Scalar(first).map { ($0, 6) } }
        guard let second = unit(at: index + 6), second & 0xfc00 == 0xdc00 else { return nil }
        return Unicode.Scalar(0x10000 + (first & 0x3ff) << 10 + second & 0x3ff).map { ($0, 12) }
    }
}
