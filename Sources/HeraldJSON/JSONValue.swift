/// The six kinds of JSON values.
package enum JSONKind: UInt8, Hashable, Sendable {
    case null, bool, number, string, array, object
}

/// A value in a parsed text: a view that costs two words to copy and reads from the text on demand.
///
/// The accessors for a kind (``string``, ``integer``, …) are `nil` for values of other kinds.
package struct JSONValue: Sendable {
    let tape: Tape
    let index: Int

    var node: Node { tape.nodes[index] }

    package var kind: JSONKind { node.kind }

    /// The range of the value in the parsed text: a string with its quotes, a container with its brackets.
    package var byteRange: Range<Int> { Int(node.start)..<Int(node.end) }

    /// A copy of the value's text, byte for byte.
    package var bytes: [UInt8] { withBytes { Array($0) } }

    /// The value's text, without a copy. The buffer must not leave the closure.
    package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        tape.withBytes(byteRange, body)
    }

    package var isNull: Bool { kind == .null }

    package var bool: Bool? { kind == .bool ? node.flags.contains(.isTrue) : nil }
}

// MARK: - Strings

extension JSONValue {
    /// The string, with escapes resolved.
    package var string: String? {
        guard kind == .string else { return nil }
        return tape.string(node.contentRange, escaped: node.flags.contains(.escaped))
    }

    /// The string's UTF-8, with escapes resolved; without a copy if it has none. The buffer must not leave the closure.
    /// - Returns: `nil` if the value is not a string.
    package func withUTF8<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result? {
        guard kind == .string else { return nil }
        return tape.withUTF8(node.contentRange, escaped: node.flags.contains(.escaped), body)
    }

    /// Whether the value is a string with exactly these bytes. Faster than comparing ``string``, and not by Unicode's
    /// canonical equivalence.
    package func isString(_ text: String) -> Bool {
        guard kind == .string else { return false }
        return tape.equals(node.contentRange, escaped: node.flags.contains(.escaped), text)
    }

    /// The time of an RFC 3339 string.
    package var timestamp: Timestamp? {
        withUTF8 { Timestamp(rfc3339: $0) } ?? nil
    }
}

// MARK: - Numbers

extension JSONValue {
    /// The number, if it is an integer and fits, in any notation: `1.0` and `1e3` are integers, as in JSON Schema.
    package var integer: Int64? {
        guard node.flags.contains(.integer) else { return number?.integer }
        return withBytes { text in
            // Counts down, because the smallest number has no positive counterpart.
            var value: Int64 = 0
            let isNegative = text[0] == UInt8(ascii: "-")
            for digit in text[(isNegative ? 1 : 0)...] {
                let (product, tooSmall) = value.multipliedReportingOverflow(by: 10)
                let (sum, tooSmallToo) = product.subtractingReportingOverflow(Int64(digit &- UInt8(ascii: "0")))
                if tooSmall || tooSmallToo { return nil }
                value = sum
            }
            if isNegative { return value }
            return value == .min ? nil : -value
        }
    }

    /// The nearest double; `nil` if it would be infinite.
    package var double: Double? {
        guard kind == .number else { return nil }
        return withBytes { Double(String(decoding: $0, as: UTF8.self)) }.flatMap { $0.isFinite ? $0 : nil }
    }
}
