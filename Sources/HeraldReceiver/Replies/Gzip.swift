/// Writes gzip (RFC 1952) without a library: one deflate block with the fixed codes (RFC 1951, 3.2.6), which compresses
/// only runs of one byte. Enough for compressed responses of a test receiver.
struct Gzip {
    private var output: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
    private var bits: UInt32 = 0
    private var bitCount = 0

    static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var gzip = Gzip()
        gzip.deflate(bytes)
        for value in [crc32(bytes), UInt32(truncatingIfNeeded: bytes.count)] {
            for shift in [0, 8, 16, 24] as [UInt32] { gzip.output.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }
        return gzip.output
    }

    private mutating func deflate(_ bytes: [UInt8]) {
        put(0b011, count: 3)  // the last block, with fixed codes
        var index = 0
        while index < bytes.count {
            literal(bytes[index])
            index += 1
            while let length = Self.run(in: bytes, at: index) {
                repeatLastByte(length)
                index += length
            }
        }
        putCode(0, count: 7)  // the end of the block
        if bitCount > 0 { put(0, count: 8 - bitCount) }
    }

    /// The length of the run at `index` of the byte before it, rounded down to a length with a code without extra bits.
    private static func run(in bytes: [UInt8], at index: Int) -> Int? {
        let end = min(bytes.count, index + 258)
        var length = 0
        while index + length < end, bytes[index + length] == bytes[index - 1] { length += 1 }
        return length == 258 ? 258 : length >= 3 ? min(length, 10) : nil
    }

    private mutating func literal(_ byte: UInt8) {
        if byte < 144 {
            putCode(0b0011_0000 + UInt32(byte), count: 8)
        } else {
            putCode(0b1_1001_0000 + UInt32(byte) - 144, count: 9)
        }
    }

    /// Lengths 3 to 10 have the codes 257 to 264, of seven bits; 258 has 285, of eight. Distance 1 is code 0, of five
    /// bits.
    private mutating func repeatLastByte(_ length: Int) {
        if length == 258 {
            putCode(0b1100_0101, count: 8)
        } else {
            putCode(UInt32(length - 2), count: 7)
        }
        putCode(0, count: 5)
    }

    /// Huffman codes start with their highest bit, everything else with its lowest.
    private mutating func putCode(_ code: UInt32, count: Int) {
        for shift in stride(from: count - 1, through: 0, by: -1) { put(code >> UInt32(shift) & 1, count: 1) }
    }

    private mutating func put(_ value: UInt32, count: Int) {
        bits |= value << UInt32(bitCount)
        bitCount += count
        while bitCount >= 8 {
            output.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            bitCount -= 8
        }
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var crc = UInt32.max
        for byte in bytes { crc = table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ (crc >> 8) }
        return ~crc
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? 0xedb8_8320 ^ (crc >> 1) : crc >> 1 }
    }
}
