import HeraldJSON

/// One part of a URL or of a form, percent-encoded: only the unreserved characters of RFC 3986 stay as they are.
package enum URLPart {
    package static func append(_ byte: UInt8, to output: inout [UInt8]) {
        switch byte {
        // Not `utf8.contains`, which takes longer: all that is encoded gets here.
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): output.append(byte)
        default:
            if isLetter(byte) || isDigit(byte) { output.append(byte) } else { PercentEscapes.append(byte, to: &output) }
        }
    }

    package static func encoded(_ text: String) -> String {
        String(decoding: text.utf8.reduce(into: [UInt8]()) { append($1, to: &$0) }, as: UTF8.self)
    }
}
