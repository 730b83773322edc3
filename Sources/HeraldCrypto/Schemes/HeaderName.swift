/// The rule for names of headers: tokens of RFC 9110, 5.6.2.
package enum HeaderName {
    package static let maxBytes = 64

    /// Why a name is invalid.
    package static func problem(_ name: String) -> String? {
        (1...maxBytes).contains(name.utf8.count)
            && name.utf8.allSatisfy { isLetterOrDigit($0) || "!#$%&'*+-.^_`|~".utf8.contains($0) }
            ? nil : "must be a header name of 1 to \(maxBytes) letters, digits and !#$%&'*+-.^_`|~"
    }

    /// The headers that HTTP itself uses. Another value in one of these would change how a request is parsed or sent.
    package static let framing: Set<String> = [
        "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "keep-alive",
        "expect", "te", "trailer", "upgrade",
    ]
}

/// Whether the byte is an ASCII letter or digit.
func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
    default: false
    }
}
