/// The parts of a request's target, as ranges of the bytes of its `RawHead`. Three forms are served: a path (origin
/// form), a URI of http or https (absolute form), and the asterisk of `OPTIONS *`.
struct RequestTarget: Sendable {
    /// The host and the port of the absolute form.
    let authority: Range<Int>?
    /// The path, without the query. Empty in an absolute form without a path, which means `/`.
    let path: Range<Int>

    init(_ bytes: Span<UInt8>, _ target: Range<Int>, method: Range<Int>) throws(RequestFailure) {
        var pathEnd = target.upperBound
        for index in target {
            let byte = bytes[index]
            if byte <= 0x20 || byte >= 0x7f || byte == UInt8(ascii: "#") { throw .malformed(.target) }
            if byte == UInt8(ascii: "?"), pathEnd == target.upperBound { pathEnd = index }
        }
        guard let first = target.first else { throw .malformed(.target) }
        if bytes[first] == UInt8(ascii: "/") {
            authority = nil
            path = first..<pathEnd
            return
        }
        let isOptions = HeadRules.spells(bytes, method, "options")
        if bytes[first] == UInt8(ascii: "*") {
            guard target.count == 1, isOptions else { throw .malformed(.target) }
            authority = nil
            path = target
            return
        }
        guard let start = Self.authorityStart(bytes, first..<pathEnd) else { throw .malformed(.target) }
        var end = start
        while end < pathEnd, bytes[end] != UInt8(ascii: "/") { end += 1 }
        authority = start..<end
        path = end..<pathEnd
    }

    /// The end of `http://` or `https://`, in any case.
    private static func authorityStart(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        for prefix: StaticString in ["http://", "https://"] {
            let end = range.lowerBound + prefix.utf8CodeUnitCount
            if end <= range.upperBound, HeadRules.spells(bytes, range.lowerBound..<end, prefix) { return end }
        }
        return nil
    }
}
