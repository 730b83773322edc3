/// One part of a URL or of a form, percent-encoded: only the unreserved characters of RFC 3986 stay as they are.
package enum URLPart {
    package static func append(_ byte: UInt8, to output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            output.append(byte)
        default:
            func digit(_ value: UInt8) -> UInt8 {
                value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
            }
            output += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
        }
    }

    package static func encoded(_ text: String) -> String {
        String(decoding: text.utf8.reduce(into: [UInt8]()) { append($1, to: &$0) }, as: UTF8.self)
    }
}
