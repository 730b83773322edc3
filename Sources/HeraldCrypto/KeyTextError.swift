/// Why the text of a key is invalid, for the user. Never quotes the text.
package enum KeyTextError: Error, Equatable, Sendable, CustomStringConvertible {
    case noPrefix(String)
    /// The text begins with the prefix of no key that signs.
    case noKnownPrefix
    case notBase64(prefix: String)
    case wrongLength(Int, expected: String)
    /// The two halves of a private key's text do not match.
    case notAPair
    case key(Ed25519Error)

    package var description: String {
        switch self {
        case .noPrefix(let prefix): "must begin with \"\(prefix)\""
        case .noKnownPrefix: "must be a string that begins with whsec_ (for v1) or whsk_ (for v1a)"
        case .notBase64(let prefix):
            "must be \"\(prefix)\" followed by base64 with the standard alphabet and padding"
        case .wrongLength(let count, let expected): "must hold \(expected) bytes, but holds \(count)"
        case .notAPair: "must hold a seed of 32 bytes and the public key that belongs to it"
        case .key(let error): error.description
        }
    }

    /// Returns the bytes of a text with this prefix.
    static func decode(_ text: String, after prefix: String) throws(KeyTextError) -> [UInt8] {
        guard text.hasPrefix(prefix) else { throw .noPrefix(prefix) }
        guard let bytes = Base64.decode(text.dropFirst(prefix.count)) else { throw .notBase64(prefix: prefix) }
        return bytes
    }
}
