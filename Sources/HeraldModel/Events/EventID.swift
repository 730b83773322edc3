import HeraldJSON

/// The ids of events, from publishers and in the log.
///
/// Two posts are the same event if they have the same app, `source` (of a CloudEvent; other events have none) and id.
/// In the log each event of an app has a unique id: the publisher's, or, if an event of another source already has
/// that, the publisher's and a digest of the source, `1~9f…`. So the id alone always identifies an event.
package enum EventID {
    /// The limit of a publisher's id.
    package static let maxBytes = 128
    /// Precedes the digest of a source. A publisher's id can't contain it.
    private static let separator = UInt8(ascii: "~")
    private static let digestBytes = 26

    /// A description of a valid publisher's id.
    package static let words = "1 to \(maxBytes) visible ASCII characters but \" , \\ and ~, and not . or .."

    /// Whether a publisher may use this id. A quote or a comma would break an `ETag`, a backslash or only dots would
    /// break a path.
    package static func isValid(_ id: String) -> Bool {
        (1...maxBytes).contains(id.utf8.count) && id != "." && id != ".."
            && id.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: "\\"), separator: false
                default: 0x21...0x7e ~= byte
                }
            }
    }

    /// Whether an event in the log can have this id.
    package static func isKnowable(_ id: String) -> Bool {
        let parts = id.utf8.split(separator: separator, omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.count == 1 || parts[1].count == digestBytes else { return false }
        return isValid(String(Substring(parts[0])))
    }

    // MARK: Events of several sources

    /// The id in the log if an event of another source has the publisher's id.
    package static func qualified(_ id: String, source: String) -> String { "\(id)~\(digest(source))" }

    /// FNV-1a, 128 bits (http://www.isthe.com/chongo/tech/comp/fnv/): it must distinguish the sources of one app, and
    /// need not resist attacks.
    static func digest(_ source: String) -> String {
        let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b
        let start: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
        var rest = source.utf8.reduce(start) { ($0 ^ UInt128($1)) &* prime }
        var digits: [UInt8] = []
        for _ in 0..<digestBytes {
            digits.append(alphabet[Int(rest & 31)])
            rest >>= 5
        }
        return String(decoding: digits.reversed(), as: UTF8.self)
    }

    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    // MARK: In a header

    /// The limit of ``header(_:)``.
    package static let maxHeaderBytes = 3 * maxBytes + 1 + digestBytes

    /// The id in `webhook-id`: a full stop is `%2E`, because the signed text `id.timestamp.body` would be ambiguous
    /// otherwise, and `%` is `%25`. All other characters are unchanged.
    package static func header(_ id: String) -> String {
        var id = id
        // Over the bytes: a view of the text takes ten times as many instructions for each character.
        guard id.withUTF8({ $0.contains(where: isEscaped) }) else { return id }
        var text: [UInt8] = []
        for byte in id.utf8 {
            switch byte {
            case UInt8(ascii: "."): text += "%2E".utf8
            case UInt8(ascii: "%"): text += "%25".utf8
            default: text.append(byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func isEscaped(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") }
}

extension Event {
    /// The publisher's id: the id, unless the event got another one in the log.
    package var publisherID: String { attribute(Self.publisherIDName) ?? id }

    static let publisherIDName = "herald.id"
    static let sourceDigestName = "herald.source"

    /// A copy with an id that distinguishes it from an event of another source.
    package func qualified() -> Event {
        let source = attribute(CloudEventAttribute.source) ?? ""
        return Event(
            app: app, id: EventID.qualified(id, source: source), type: type, subject: subject, time: time,
            attributes: attributes + [KeyValue(Self.publisherIDName, id)], audience: audience, data: data)
    }

    /// The digest of the source that an erased event keeps, so that duplicates are recognized; it does not reveal the
    /// source.
    var sourceDigest: KeyValue {
        if let kept = attribute(Self.sourceDigestName) { return KeyValue(Self.sourceDigestName, kept) }
        return KeyValue(Self.sourceDigestName, EventID.digest(attribute(CloudEventAttribute.source) ?? ""))
    }

    /// Whether both have the same source, or none. Unknown for an event that was erased by 0.1.0, or is damaged.
    package func hasSource(of other: Event) -> Bool {
        if isDamaged { return true }
        guard isErased else {
            // As in the digest: two sources may have equal characters in other bytes.
            return attribute(CloudEventAttribute.source).map(ExactText.init)
                == other.attribute(CloudEventAttribute.source).map(ExactText.init)
        }
        guard let kept = attribute(Self.sourceDigestName) else { return true }
        return kept == EventID.digest(other.attribute(CloudEventAttribute.source) ?? "")
    }
}
