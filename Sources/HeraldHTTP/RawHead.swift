/// A request's header section as the library parsed it, not validated yet, in one allocation: the method, the target
/// and the version, then each field as two lengths of 16 bits, its name in lower case, its value.
///
/// A value, so that it can be validated in tests without a socket, and outlives the connection.
struct RawHead: Sendable {
    /// More header fields than this are refused.
    static let maxFields = 100

    let bytes: [UInt8]
    let methodEnd: Int
    let targetEnd: Int
    /// Also the start of the fields.
    let versionEnd: Int
    /// The bits of the fields' names. Most fields that are looked up are missing, and this shows it without a search.
    let nameBits: UInt64

    typealias Bytes = UnsafeBufferPointer<UInt8>

    /// `nil` if a length exceeds 16 bits, which the limit of header sections prevents.
    init?(method: Bytes, target: Bytes, version: Bytes, fields: some Collection<(name: Bytes, value: Bytes)>) {
        var size = method.count + target.count + version.count
        var bits: UInt64 = 0
        for field in fields {
            guard field.name.count <= 0xffff, field.value.count <= 0xffff else { return nil }
            size += 4 + field.name.count + field.value.count
            if let last = field.name.last { bits |= Self.bit(last, field.name.count) }
        }
        nameBits = bits
        bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            var writer = Writer(start: buffer.baseAddress)
            writer.append(method)
            writer.append(target)
            writer.append(version)
            for field in fields {
                writer.append(length: field.name.count)
                writer.append(length: field.value.count)
                writer.appendLowercased(field.name)
                writer.append(field.value)
            }
            count = writer.count
        }
        methodEnd = method.count
        targetEnd = methodEnd + target.count
        versionEnd = targetEnd + version.count
    }

    /// One of 64 bits for a name, by its last byte, in any case, and its length: the usual names hardly ever share one.
    @inline(__always)
    static func bit(_ last: UInt8, _ count: Int) -> UInt64 { 1 << UInt64((Int(lowercased(last)) &+ 11 &* count) & 63) }

    /// The ranges of the field that starts at `position`.
    @inline(__always)
    static func field(in bytes: Span<UInt8>, at position: Int) -> (name: Range<Int>, value: Range<Int>) {
        let name = position + 4
        let value = name + (Int(bytes[position]) | Int(bytes[position + 1]) << 8)
        let end = value + (Int(bytes[position + 2]) | Int(bytes[position + 3]) << 8)
        return (name..<value, value..<end)
    }
}

extension RawHead {
    /// Fills a buffer of the computed size.
    private struct Writer {
        let start: UnsafeMutablePointer<UInt8>?
        var count = 0

        @inline(__always)
        mutating func append(_ bytes: Bytes) {
            guard let start, let source = bytes.baseAddress else { return }
            (start + count).initialize(from: source, count: bytes.count)
            count += bytes.count
        }

        @inline(__always)
        mutating func appendLowercased(_ bytes: Bytes) {
            guard let start else { return }
            for byte in bytes {
                start[count] = lowercased(byte)
                count += 1
            }
        }

        @inline(__always)
        mutating func append(length: Int) {
            guard let start else { return }
            start[count] = UInt8(truncatingIfNeeded: length)
            start[count + 1] = UInt8(truncatingIfNeeded: length >> 8)
            count += 2
        }
    }
}
