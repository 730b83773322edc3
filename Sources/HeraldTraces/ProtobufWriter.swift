/// Writes messages in the encoding of Protocol Buffers.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    private enum Wire: UInt64 {
        case varint = 0
        case fixed64 = 1
        case bytes = 2
        case fixed32 = 5
    }

    private mutating func tag(_ field: Int, _ wire: Wire) { varint(UInt64(field) << 3 | wire.rawValue) }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func littleEndian(_ value: UInt64, count: Int) {
        for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
    }

    mutating func number(_ field: Int, _ value: Int64) {
        tag(field, .varint)
        varint(UInt64(bitPattern: value))
    }

    mutating func fixed64(_ field: Int, _ value: UInt64) {
        tag(field, .fixed64)
        littleEndian(value, count: 8)
    }

    mutating func fixed32(_ field: Int, _ value: UInt32) {
        tag(field, .fixed32)
        littleEndian(UInt64(value), count: 4)
    }

    mutating func text(_ field: Int, _ value: String) {
        tag(field, .bytes)
        varint(UInt64(value.utf8.count))
        bytes += value.utf8
    }

    /// Numbers as bytes in the order of the network.
    mutating func identifier(_ field: Int, _ numbers: UInt64...) {
        tag(field, .bytes)
        varint(UInt64(8 * numbers.count))
        for number in numbers { littleEndian(number.byteSwapped, count: 8) }
    }

    mutating func message(_ field: Int, _ body: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        body(&inner)
        tag(field, .bytes)
        varint(UInt64(inner.bytes.count))
        bytes += inner.bytes
    }
}
