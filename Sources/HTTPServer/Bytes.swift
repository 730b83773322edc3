// What HTTP says about single bytes.

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

/// What a `Host` is made of: letters, digits, `-._~%:[]`.
@inline(__always)
func isHostByte(_ byte: UInt8) -> Bool { isOne(byte, of: 0x07ff_6020_0000_0000, 0x47ff_fffe_afff_fffe) }
