/// A type that ``JSONWriter`` can write as a value. Conform your own types to give them one JSON form everywhere:
///
/// ```swift
/// extension Delivery: JSONWritable {
///     func write(to json: inout JSONWriter) {
///         json.object { $0.member("id", id) }
///     }
/// }
/// ```
@usableFromInline package protocol JSONWritable {
    /// Writes exactly one value.
    func write(to json: inout JSONWriter)
}

extension String: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { json.string(self) }
}

extension Bool: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { json.bool(self) }
}

extension Double: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { json.double(self) }
}

extension Int: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { json.integer(Int64(self)) }
}

extension Int64: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { json.integer(self) }
}

extension Int32: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { json.integer(Int64(self)) }
}

extension UInt16: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { json.integer(Int64(self)) }
}

extension UInt64: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { json.integer(self) }
}

extension Timestamp: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { json.timestamp(self) }
}

/// A parsed value is written unchanged, byte for byte.
extension JSONValue: JSONWritable {
    @usableFromInline package func write(to json: inout JSONWriter) { withBytes { json.raw($0) } }
}

/// `nil` is written as `null`.
extension Optional: JSONWritable where Wrapped: JSONWritable {
    @inlinable
    package func write(to json: inout JSONWriter) {
        if let self { self.write(to: &json) } else { json.null() }
    }
}

extension Array: JSONWritable where Element: JSONWritable {
    @inlinable
    package func write(to json: inout JSONWriter) {
        json.array { for element in self { $0.element(element) } }
    }
}

/// Bytes that are already one JSON value.
@usableFromInline package struct RawJSON: JSONWritable, Sendable {
    @usableFromInline package let bytes: ArraySlice<UInt8>

    @inlinable
    package init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    @usableFromInline package func write(to json: inout JSONWriter) { json.raw(bytes) }
}

extension JSONWritable where Self == RawJSON {
    /// Bytes that are already one JSON value. They are not validated.
    @inlinable
    package static func raw(_ bytes: ArraySlice<UInt8>) -> RawJSON { RawJSON(bytes) }

    @inlinable
    package static func raw(_ bytes: [UInt8]) -> RawJSON { RawJSON(bytes[...]) }
}

extension JSONWritable where Self == Timestamp {
    /// Milliseconds since 1970 as an RFC 3339 string in UTC.
    package static func timestamp(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }
}

/// The literal `null`.
@usableFromInline package struct JSONNull: JSONWritable, Sendable {
    @usableFromInline package init() {}
    @usableFromInline package func write(to json: inout JSONWriter) { json.null() }
}
