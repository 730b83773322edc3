/// The rules for header sections. libmicrohttpd 0.9.75 is lenient: it uses the first of two `Content-Length`s, does not
/// recognize `Content-Length : 3`, and accepts a length together with an encoding, any target and any method. Behind a
/// proxy that parses such a request differently, this allows request smuggling. So every ambiguous request is refused
/// here, and the connection closed.
///
/// A pure function of the header section: no I/O, no state. `HeadLayout` checks the line endings.
struct HeadRules: Sendable {
    /// In lower case.
    private let allowedHosts: [[UInt8]]
    private let maxBodyBytes: Int

    init(allowedHosts: [String] = [], maxBodyBytes: Int = .max) {
        self.allowedHosts = allowedHosts.map { host in
            // An IPv6 address is in brackets on the wire.
            (host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host).utf8.map(lowercased)
        }
        self.maxBodyBytes = maxBodyBytes
    }

    /// The parsed header section, or the first rule that it breaks.
    func check(_ raw: RawHead) throws(RequestFailure) -> RequestHead {
        let bytes = raw.bytes.span
        let version = try Self.version(bytes, raw.targetEnd..<raw.versionEnd)
        for index in 0..<raw.methodEnd where bytes[index] &- 0x41 >= 26 {
            throw .malformed(.method)
        }
        let target = try RequestTarget(bytes, raw.methodEnd..<raw.targetEnd, method: 0..<raw.methodEnd)
        var framing = Framing()
        // In the absolute form the target names the host, and `Host` is ignored (RFC 9112, 3.2.2).
        if let authority = target.authority { framing.hostName = try Self.hostName(bytes, authority) }
        try read(raw, version, into: &framing)
        if framing.seen.contains(.transferEncoding) {
            if framing.seen.contains(.contentLength) { throw .malformed(.lengthAndEncoding) }
            if version == .http10 { throw .malformed(.transferEncoding) }
        }
        if version == .http11, !framing.seen.contains(.host) { throw .malformed(.host) }
        if let name = framing.hostName { try checkServed(bytes, name) }
        guard let method = Self.method(bytes, 0..<raw.methodEnd) else { throw .unknownMethod }
        if let length = framing.length, length > maxBodyBytes { throw .bodyTooLarge }
        return RequestHead(
            method: method, version: version, contentLength: framing.length,
            isChunked: framing.seen.contains(.transferEncoding), isJSON: framing.isJSON, raw: raw, target: target)
    }
}

/// Fields that must not be repeated.
private struct Unique: OptionSet {
    let rawValue: UInt8
    static let host = Unique(rawValue: 1)
    static let contentLength = Unique(rawValue: 2)
    static let transferEncoding = Unique(rawValue: 4)
    static let authorization = Unique(rawValue: 8)
    static let contentType = Unique(rawValue: 16)
    static let idempotencyKey = Unique(rawValue: 32)
    /// A proxy that names the app of its clients may add its field behind one of a client.
    static let app = Unique(rawValue: 64)

    /// The rule that a second field of this name breaks.
    var repetition: RequestFailure.Rule {
        switch self {
        case .host: .repeatedHost
        case .contentLength: .repeatedContentLength
        case .transferEncoding: .repeatedTransferEncoding
        case .authorization: .repeatedAuthorization
        case .contentType: .repeatedContentType
        case .app: .repeatedApp
        default: .repeatedIdempotencyKey
        }
    }
}

/// The framing of the body according to the fields.
private struct Framing {
    var seen: Unique = []
    var length: Int?
    var isJSON = false
    /// The name of the host that the request is for, without a port.
    var hostName: Range<Int>?
}

extension HeadRules {
    private func read(_ raw: RawHead, _ version: HTTPVersion, into framing: inout Framing) throws(RequestFailure) {
        let bytes = raw.bytes.span
        var position = raw.versionEnd
        var count = 0
        while position < bytes.count {
            count += 1
            if count > RawHead.maxFields { throw .tooManyFields }
            let (name, value) = RawHead.field(in: bytes, at: position)
            position = value.upperBound
            if name.isEmpty { throw .malformed(.fieldName) }
            for index in name where !isTokenByte(bytes[index]) { throw .malformed(.fieldName) }
            if !areValueBytes(bytes.extracting(value)) { throw .malformed(.fieldValue) }
            guard let unique = Self.unique(bytes, name) else {
                let isExpectation = version == .http11 && RawHead.holds(bytes, name, "expect")
                if isExpectation, !Self.spells(bytes, value, "100-continue") { throw .unknownExpectation }
                continue
            }
            if !framing.seen.insert(unique).inserted { throw .malformed(unique.repetition) }
            switch unique {
            case .host:
                let name = try Self.hostName(bytes, value)
                if framing.hostName == nil { framing.hostName = name }
            case .contentLength: framing.length = try Self.length(bytes, value)
            case .contentType: framing.isJSON = Self.spells(bytes, value, "application/json")
            case .transferEncoding:
                if !Self.spells(bytes, value, "chunked") { throw .malformed(.transferEncoding) }
            default: break
            }
        }
    }

    /// By length first: most names differ in length.
    private static func unique(_ bytes: Span<UInt8>, _ name: Range<Int>) -> Unique? {
        switch name.count {
        case 4: RawHead.holds(bytes, name, "host") ? .host : nil
        case 10: RawHead.holds(bytes, name, "herald-app") ? .app : nil
        case 12: RawHead.holds(bytes, name, "content-type") ? .contentType : nil
        case 13: RawHead.holds(bytes, name, "authorization") ? .authorization : nil
        case 14: RawHead.holds(bytes, name, "content-length") ? .contentLength : nil
        case 15: RawHead.holds(bytes, name, "idempotency-key") ? .idempotencyKey : nil
        case 17: RawHead.holds(bytes, name, "transfer-encoding") ? .transferEncoding : nil
        default: nil
        }
    }

    /// The name in `name`, `name:port`, `[address]` or `[address]:port`. A port is a number up to 65535, or empty.
    private static func hostName(_ bytes: Span<UInt8>, _ value: Range<Int>) throws(RequestFailure) -> Range<Int> {
        guard let first = value.first else { throw .malformed(.host) }
        let isAddress = bytes[first] == UInt8(ascii: "[")
        var end = isAddress ? first + 1 : first
        while end < value.upperBound, bytes[end] != UInt8(ascii: isAddress ? "]" : ":") {
            let byte = bytes[end]
            if !isHostByte(byte) || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") { throw .malformed(.host) }
            end += 1
        }
        if isAddress {
            guard end > first + 1, end < value.upperBound else { throw .malformed(.host) }
            end += 1
        }
        if end == first { throw .malformed(.host) }
        if end < value.upperBound { try checkPort(bytes, end..<value.upperBound) }
        return first..<end
    }

    /// A colon, and digits or nothing.
    private static func checkPort(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(RequestFailure) {
        var port = 0
        guard bytes[range.lowerBound] == UInt8(ascii: ":") else { throw .malformed(.host) }
        for index in range.dropFirst() {
            let digit = bytes[index] &- 0x30
            if digit > 9 { throw .malformed(.host) }
            port = port * 10 + Int(digit)
            if port > 65_535 { throw .malformed(.host) }
        }
    }

    private func checkServed(_ bytes: Span<UInt8>, _ name: Range<Int>) throws(RequestFailure) {
        if allowedHosts.isEmpty { return }
        for host in allowedHosts where Self.spells(bytes, name, host) { return }
        throw .misdirected
    }

    /// Digits only. A number too large for an `Int` is a body too large.
    private static func length(_ bytes: Span<UInt8>, _ value: Range<Int>) throws(RequestFailure) -> Int {
        if value.isEmpty { throw .malformed(.contentLength) }
        var length = 0
        var isTooLarge = false
        for index in value {
            let digit = bytes[index] &- 0x30
            if digit > 9 { throw .malformed(.contentLength) }
            let (shifted, overflow) = length.multipliedReportingOverflow(by: 10)
            let (sum, overflow2) = shifted.addingReportingOverflow(Int(digit))
            isTooLarge = isTooLarge || overflow || overflow2
            length = sum
        }
        if isTooLarge { throw .bodyTooLarge }
        return length
    }

    private static func version(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(RequestFailure) -> HTTPVersion {
        let name: StaticString = "HTTP/1."
        guard range.count == 8 else { throw .malformed(.version) }
        for offset in 0..<7 where bytes[range.lowerBound + offset] != name.utf8Start[offset] {
            throw .malformed(.version)
        }
        switch bytes[range.lowerBound + 7] {
        case UInt8(ascii: "0"): return .http10
        case UInt8(ascii: "1"): return .http11
        default: throw .malformed(.version)
        }
    }

    private static func method(_ bytes: Span<UInt8>, _ range: Range<Int>) -> RequestMethod? {
        func equals(_ name: StaticString) -> Bool { spells(bytes, range, name) }
        switch range.count {
        case 3: return equals("get") ? .get : equals("put") ? .put : nil
        case 4: return equals("post") ? .post : equals("head") ? .head : nil
        case 5: return equals("patch") ? .patch : equals("trace") ? .trace : nil
        case 6: return equals("delete") ? .delete : nil
        case 7: return equals("options") ? .options : nil
        default: return nil
        }
    }

    /// Whether the range equals `text`, which is in lower case, in any case.
    static func spells(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count {
            let (byte, wanted) = (bytes[range.lowerBound &+ offset], text.utf8Start[offset])
            if byte != wanted, lowercased(byte) != wanted { return false }
        }
        return true
    }

    private static func spells(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: [UInt8]) -> Bool {
        guard range.count == text.count else { return false }
        for offset in 0..<range.count where lowercased(bytes[range.lowerBound + offset]) != text[offset] {
            return false
        }
        return true
    }
}
