/// Resolves the escapes of a string that the scanner has accepted.
/// - Parameters:
///   - text: the text between the quotes.
///   - buffer: at least as large as the text; resolving never makes it longer.
/// - Returns: the number of bytes written.
func unescape(_ text: UnsafeBufferPointer<UInt8>, into buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var read = 0
    var written = 0
    func put(_ byte: UInt8) {
        buffer.initializeElement(at: written, to: byte)
        written += 1
    }
    func unit(at index: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 << 4 | UInt32(hexadecimalDigit(text[index + $1]) ?? 0) }
    }
    while read < text.count {
        guard text[read] == UInt8(ascii: "\\") else {
            put(text[read])
            read += 1
            continue
        }
        let kind = text[read + 1]
        read += 2
        switch kind {
        case UInt8(ascii: "b"): put(0x08)
        case UInt8(ascii: "f"): put(0x0c)
        case UInt8(ascii: "n"): put(0x0a)
        case UInt8(ascii: "r"): put(0x0d)
        case UInt8(ascii: "t"): put(0x09)
        case UInt8(ascii: "u"):
            var scalar = unit(at: read)
            read += 4
            if scalar & 0xf800 == 0xd800 {
                scalar = 0x10000 + (scalar & 0x3ff) << 10 + unit(at: read + 2) & 0x3ff
                read += 6
            }
            // The scanner has refused lone surrogates, so it is a scalar.
            if let scalar = Unicode.Scalar(scalar), let bytes = UTF8.encode(scalar) {
                for byte in bytes { put(byte) }
            }
        default: put(kind)
        }
    }
    return written
}
