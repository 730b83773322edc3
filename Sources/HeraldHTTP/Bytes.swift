// Classification of bytes in HTTP.

/// ASCII only.
@inline(__always)
func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
}

/// tchar of RFC 9110.
@inline(__always)
func isTokenByte(_ byte: UInt8) -> Bool { isOne(byte, of: 0x03ff_6cfa_0000_0000, 0x57ff_ffff_c7ff_fffe) }

/// Whether the byte's bit is set in a mask of the first 64 characters, and one of the next 64.
@inline(__always)
private func isOne(_ byte: UInt8, of first: UInt64, _ second: UInt64) -> Bool {
    byte < 128 && (byte < 64 ? first : second) &>> UInt64(byte & 63) & 1 == 1
}

@inline(__always)
func isValueByte(_ byte: UInt8) -> Bool {
    (byte >= 0x20 && byte != 0x7f) || byte == 0x09
}

/// Eight bytes at a time, and one by one if one of them is below 0x20 or 0x7f. (The borrow of a subtraction may flag a
/// valid byte, but never misses an invalid one.)
@inline(__always)
func areValueBytes(_ bytes: Span<UInt8>) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var index = 0
    while index &+ 8 <= bytes.count {
        let word = bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
        let deletes = word ^ (ones &* 0x7f)
        let doubts = ((word &- ones &* 0x20) & ~word) | ((deletes &- ones) & ~deletes)
        if doubts & (ones &* 0x80) != 0, !areValueBytes(bytes, index..<index &+ 8) { return false }
        index &+= 8
    }
    return areValueBytes(bytes, index..<bytes.count)
}

@inline(__always)
private func areValueBytes(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    for index in range where !isValueByte(bytes[index]) { return false }
    return true
}

/// The bytes of a `Host`: letters, digits, `-._~%:[]`.
@inline(__always)
func isHostByte(_ byte: UInt8) -> Bool { isOne(byte, of: 0x07ff_6020_0000_0000, 0x47ff_fffe_afff_fffe) }
