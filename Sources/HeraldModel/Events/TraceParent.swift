/// The header `traceparent` (https://www.w3.org/TR/trace-context/): `00-<trace id>-<parent id>-<flags>`.
package enum TraceParent {
    /// The name of the header, and of the attribute of events.
    package static let name = "traceparent"
    /// The name of the header with the vendors' data about a trace, and of the attribute of events. It is of no use
    /// without a `traceparent`.
    package static let stateName = "tracestate"
    private static let maxBytes = 128
    private static let maxStateBytes = 512

    /// Whether a `tracestate` may be passed on: visible ASCII and spaces, at most the 512 bytes that the specification
    /// requires every system to pass on.
    package static func isValidState(_ text: String) -> Bool {
        (1...maxStateBytes).contains(text.utf8.count) && text.utf8.allSatisfy { 0x20...0x7e ~= $0 }
    }

    /// Whether it is valid. Invalid values are ignored, as the specification requires.
    package static func isValid(_ text: String) -> Bool {
        let bytes = text.utf8.span
        // Version, trace id, parent id and flags; later versions may append more.
        guard bytes.count >= 55, bytes.count <= maxBytes,
            isHexadecimal(bytes, 0..<2), !isAll(bytes, 0..<2, UInt8(ascii: "f")), bytes[2] == dash,
            isHexadecimal(bytes, 3..<35), !isAll(bytes, 3..<35, UInt8(ascii: "0")), bytes[35] == dash,
            isHexadecimal(bytes, 36..<52), !isAll(bytes, 36..<52, UInt8(ascii: "0")), bytes[52] == dash,
            isHexadecimal(bytes, 53..<55)
        else { return false }
        if bytes.count == 55 { return true }
        for index in 55..<bytes.count where !(0x21...0x7e).contains(bytes[index]) { return false }
        return bytes[55] == dash && !isAll(bytes, 0..<2, UInt8(ascii: "0"))
    }

    /// The attributes of an event that belongs to a trace. Invalid values are ignored, as the specification requires.
    package static func attributes(_ parent: String?, state: String?) -> [KeyValue] {
        guard let parent, isValid(parent) else { return [] }
        guard let state, isValidState(state) else { return [KeyValue(name, parent)] }
        return [KeyValue(name, parent), KeyValue(stateName, state)]
    }

    private static let dash = UInt8(ascii: "-")

    /// In lower case.
    private static func isHexadecimal(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        for index in range {
            switch bytes[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): continue
            default: return false
            }
        }
        return true
    }

    private static func isAll(_ bytes: Span<UInt8>, _ range: Range<Int>, _ byte: UInt8) -> Bool {
        for index in range where bytes[index] != byte { return false }
        return true
    }
}

extension Event {
    /// The vendors' data about the trace; `nil` without a trace.
    package var traceState: String? {
        guard traceParent != nil else { return nil }
        return attribute(TraceParent.stateName).flatMap { TraceParent.isValidState($0) ? $0 : nil }
    }

    /// The trace context for callbacks and the service's own events. In a CloudEvent, the attribute may have any value.
    package var traceParent: String? {
        if attributes.isEmpty { return nil }
        return attribute(TraceParent.name).flatMap { TraceParent.isValid($0) ? $0 : nil }
    }
}
