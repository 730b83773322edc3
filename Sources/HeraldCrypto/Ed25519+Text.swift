// The text forms of Ed25519 keys in Standard Webhooks.

extension Ed25519.PrivateKey {
    package static let prefix = "whsk_"

    /// `whsk_` and the base 64 of the seed, followed by the public key.
    package var text: String { Self.prefix + Base64.encode(seed + publicKey.bytes) }

    /// Parses the text of a key. The error never quotes the text.
    package convenience init(text: String) throws(KeyTextError) {
        let bytes = try KeyTextError.decode(text, after: Self.prefix)
        guard bytes.count == Ed25519.seedByteCount + Ed25519.publicKeyByteCount else {
            throw .wrongLength(bytes.count, expected: "\(Ed25519.seedByteCount + Ed25519.publicKeyByteCount)")
        }
        do {
            try self.init(seed: Array(bytes.prefix(Ed25519.seedByteCount)))
        } catch {
            throw .key(error)
        }
        guard publicKey.bytes == Array(bytes.suffix(Ed25519.publicKeyByteCount)) else { throw .notAPair }
    }
}

extension Ed25519.PublicKey: CustomStringConvertible {
    package static let prefix = "whpk_"

    /// `whpk_` and the base 64 of the key.
    package var text: String { Self.prefix + Base64.encode(bytes) }
    package var description: String { text }

    package init(text: String) throws(KeyTextError) {
        let bytes = try KeyTextError.decode(text, after: Self.prefix)
        guard bytes.count == Ed25519.publicKeyByteCount else {
            throw .wrongLength(bytes.count, expected: "\(Ed25519.publicKeyByteCount)")
        }
        self.init(checked: bytes)
    }
}
