/// Base 64 with the alphabet for URLs and without padding (RFC 4648, section 5).
extension Base64 {
    package static func encodeURLSafe(_ bytes: [UInt8]) -> String {
        let text = encode(bytes).utf8.prefix { $0 != UInt8(ascii: "=") }
        return String(
            decoding: text.map { byte in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                default: byte
                }
            }, as: UTF8.self)
    }

    /// The bytes, or `nil` if the text has any other form; padding is optional.
    package static func decodeURLSafe(_ text: some StringProtocol) -> [UInt8]? {
        var standard: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"): return nil
            default: standard.append(byte)
            }
        }
        if standard.last != UInt8(ascii: "=") {
            while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        }
        return decode(String(decoding: standard, as: UTF8.self))
    }
}
