/// A key that signs callbacks, in the text forms of Standard Webhooks.
package enum SigningKeyText: Sendable {
    /// `whsec_…`: HMAC-SHA256, with 24 to 64 bytes.
    case shared([UInt8])
    /// `whsk_…`: Ed25519, with its seed.
    case pair(seed: [UInt8])

    /// Parses the text of a key. The error never quotes the text.
    package init(parsing text: String) throws(KeyTextError) {
        if text.hasPrefix(SecretText.prefix) {
            self = .shared(try SecretText.parse(text))
        } else if text.hasPrefix(Ed25519.PrivateKey.prefix) {
            self = .pair(seed: try Ed25519.PrivateKey(text: text).seed)
        } else {
            throw .noKnownPrefix
        }
    }

    /// Empty if the bytes are not those of a key.
    package var text: String {
        switch self {
        case .shared(let bytes): SecretText.print(bytes)
        case .pair(let seed): (try? Ed25519.PrivateKey(seed: seed).text) ?? ""
        }
    }

    /// The public key that verifies its signatures; `nil` for a shared key.
    package var publicKey: Ed25519.PublicKey? {
        if case .pair(let seed) = self { return try? Ed25519.PrivateKey(seed: seed).publicKey }
        return nil
    }
}
