/// A strict parser for RFC 8259 that reuses its memory.
///
/// For a thread that parses many texts: once its storage has grown to the size of the input, a parse allocates nothing,
/// unless an object has more than 16 keys or a key has escapes. A 512-byte event takes about half a microsecond.
///
/// ```swift
/// var parser = JSONParser()
/// let event = try parser.parse(body)
/// let type = event["type"]?.string
/// let data = event["data"].map { body[$0.byteRange] }  // byte for byte
/// ```
///
/// Values stay valid while they are held, even if the parser continues with the next text: then it allocates new
/// storage and leaves them the old one. So release them before the next parse where speed matters.
///
/// In addition to the grammar it refuses duplicate keys in one object, byte order marks, lone surrogates and everything
/// beyond its ``JSONLimits``. It stops at the first error.
package struct JSONParser: Sendable {
    package let limits: JSONLimits
    private var tape: Tape

    package init(limits: JSONLimits = .standard) {
        self.limits = limits
        tape = Tape()
    }

    /// Parses one text. The bytes are copied; the buffer is not used after the return.
    /// - Returns: the outermost value.
    @discardableResult
    package mutating func parse(_ text: UnsafeBufferPointer<UInt8>) throws(JSONError) -> JSONValue {
        // Values of an earlier text still use the tape.
        if !isKnownUniquelyReferenced(&tape) { tape = Tape() }
        try tape.fill(from: text, limits: limits)
        return JSONValue(tape: tape, index: 0)
    }

    @discardableResult
    package mutating func parse(_ text: [UInt8]) throws(JSONError) -> JSONValue {
        try text.withUnsafeBufferPointer { buffer throws(JSONError) in try parse(buffer) }
    }

    /// Parses one text that is part of a longer one. Byte ranges and offsets count from the start of the slice.
    /// - Returns: the outermost value.
    @discardableResult
    package mutating func parse(_ text: ArraySlice<UInt8>) throws(JSONError) -> JSONValue {
        try text.withUnsafeBufferPointer { buffer throws(JSONError) in try parse(buffer) }
    }
}
