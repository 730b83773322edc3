/// The header section of a request that satisfies `HeadRules`. It outlives the connection. A class, because it is
/// passed often.
package final class RequestHead: Sendable {
    package let method: RequestMethod
    package let version: HTTPVersion
    /// `nil` without `Content-Length`.
    package let contentLength: Int?
    package let isChunked: Bool
    /// Whether `Content-Type` is exactly `application/json`, in any case: the most common value.
    package let isJSON: Bool

    let raw: RawHead
    private let target: RequestTarget

    init(
        method: RequestMethod, version: HTTPVersion, contentLength: Int?, isChunked: Bool, isJSON: Bool, raw: RawHead,
        target: RequestTarget
    ) {
        self.method = method
        self.version = version
        self.contentLength = contentLength
        self.isChunked = isChunked
        self.isJSON = isJSON
        self.raw = raw
        self.target = target
    }

    /// Whether the request has a body. `Content-Length: 0` means none.
    package var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }

    /// The path exactly as sent, with percent-escapes. It starts with a slash and is ASCII; `*` for `OPTIONS *`.
    package var pathBytes: ArraySlice<UInt8> { target.path.isEmpty ? Self.root : raw.bytes[target.path] }
    private static let root: ArraySlice<UInt8> = [UInt8(ascii: "/")]
    package var path: String { String(decoding: pathBytes, as: UTF8.self) }

    /// The text after the first question mark, exactly as sent; `nil` without one.
    package var query: String? {
        let end = target.path.upperBound
        return end < raw.targetEnd ? String(decoding: raw.bytes[(end + 1)..<raw.targetEnd], as: UTF8.self) : nil
    }

    /// The host that the request is for, with its port if it names one: of the target in absolute form, else of `Host`.
    package var host: String? {
        target.authority.map { String(decoding: raw.bytes[$0], as: UTF8.self) } ?? value(of: "Host")
    }

    /// Whether the response must be an event stream: the `Accept` of a browser's `EventSource`.
    var acceptsOnlyEventStream: Bool {
        guard let value = raw.value(of: "Accept") else { return false }
        let bytes = raw.bytes
        // Several lines are one list, which is another value.
        return HeadRules.spells(bytes.span, value, "text/event-stream")
            && raw.value(of: "Accept", after: value.upperBound) == nil
    }

    /// The value of the first field with this name, in any case.
    package func bytes(of name: StaticString) -> ArraySlice<UInt8>? {
        raw.value(of: name).map { raw.bytes[$0] }
    }
    /// The values of all fields with this name, in order.
    func allBytes(of name: StaticString) -> [ArraySlice<UInt8>] {
        var values: [ArraySlice<UInt8>] = []
        while let next = raw.value(of: name, after: values.last?.endIndex) { values.append(raw.bytes[next]) }
        return values
    }
    /// The values of all fields with this name as one list with commas (RFC 9110, 5.3); `nil` without one.
    package func list(of name: StaticString) -> String? {
        guard var place = raw.value(of: name) else { return nil }
        var list = String(decoding: raw.bytes[place], as: UTF8.self)
        while let next = raw.value(of: name, after: place.upperBound) {
            list += "," + String(decoding: raw.bytes[next], as: UTF8.self)
            place = next
        }
        return list
    }
    package func has(_ name: StaticString) -> Bool { raw.value(of: name) != nil }
    /// Invalid UTF-8 is replaced.
    package func value(of name: StaticString) -> String? {
        bytes(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// All fields in order, names in lower case.
    package var fields: [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        let bytes = raw.bytes
        var position = raw.versionEnd
        while position < bytes.count {
            let field = RawHead.field(in: bytes.span, at: position)
            result.append(
                (
                    String(decoding: bytes[field.name], as: UTF8.self),
                    String(decoding: bytes[field.value], as: UTF8.self)
                ))
            position = field.value.upperBound
        }
        return result
    }
}

extension RawHead {
    /// - Parameter start: the end of a field; `nil` for the first field of this name.
    func value(of name: StaticString, after start: Int? = nil) -> Range<Int>? {
        let count = name.utf8CodeUnitCount
        if nameBits & Self.bit(name.utf8Start[count - 1], count) == 0 { return nil }
        let bytes = bytes.span
        var position = start ?? versionEnd
        while position < bytes.count {
            let field = Self.field(in: bytes, at: position)
            if Self.holds(bytes, field.name, name) { return field.value }
            position = field.value.upperBound
        }
        return nil
    }

    /// Whether a range, stored in lower case, equals `name` in any case.
    static func holds(_ bytes: Span<UInt8>, _ range: Range<Int>, _ name: StaticString) -> Bool {
        guard range.count == name.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count {
            let (byte, wanted) = (bytes[range.lowerBound &+ offset], name.utf8Start[offset])
            if byte != wanted, byte != lowercased(wanted) { return false }
        }
        return true
    }
}

/// The methods that the server supports. Others get 501.
package enum RequestMethod: String, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
    /// Supported, so that the handler can refuse it by its name.
    case trace = "TRACE"
}

package enum HTTPVersion: Sendable {
    case http10
    case http11
}
