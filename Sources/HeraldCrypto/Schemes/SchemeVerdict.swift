/// Whether a received message is signed, and if not, why.
package enum SchemeVerdict: Equatable, Sendable {
    case verified
    /// This header is missing.
    case missing(header: String)
    /// This header does not have the form of the scheme.
    case malformed(header: String, expected: String)
    /// A signature is valid, but too old, or, with a negative age, in the future: it could be a replay.
    case stale(seconds: Int64, limit: Int64)
    /// No signature matches one of the keys.
    case forged(SchemeMismatch)
}

extension SchemeVerdict: CustomStringConvertible {
    /// A clause for people, without a full stop.
    package var description: String {
        switch self {
        case .verified: "the signature is valid"
        case .missing(let header): "the header \(header) is missing"
        case .malformed(let header, let expected): "the header \(header) must be \(expected)"
        case .stale(let seconds, let limit) where seconds >= 0:
            "the timestamp is \(seconds) s old, at most \(limit) are accepted"
        case .stale(let seconds, let limit):
            "the timestamp is \(seconds.magnitude) s ahead of this clock, at most \(limit) are accepted"
        case .forged(let mismatch): mismatch.description
        }
    }
}

/// Why a signature is wrong, as far as it can be found out: with the named change it would be right.
package enum SchemeMismatch: Equatable, Sendable, CustomStringConvertible {
    /// No change that was tried makes it right.
    case unknown
    /// The secret begins or ends with white space.
    case secretWhiteSpace
    /// The key is the other form of the text of the secret.
    case secretForm(Scheme.KeyForm)
    /// The end of the body was changed.
    case bodyEnd(String)
    /// The body was decoded and encoded again.
    case bodyEncoding(String)
    /// The URL differs from the signed one.
    case url(String)
    /// The bytes of the signature are written in another way.
    case encoding(String)

    package var description: String {
        switch self {
        case .unknown: "the signature is of another secret or body"
        case .secretWhiteSpace: "the secret begins or ends with white space: it is right without"
        case .secretForm(.whsec):
            "the secret is used as text: it is right if the part after \(SecretText.prefix) is decoded from base64"
        case .secretForm(.text): "the secret is decoded from base64: it is right if its whole text is the key"
        case .bodyEnd(let change): "the body was changed: it is right \(change)"
        case .bodyEncoding(let form): "the body was decoded and encoded again: it is right \(form)"
        case .url(let url): "the URL is another one: it is right for \(url)"
        case .encoding(let form): "the signature is right, but written as \(form)"
        }
    }
}
