package import HeraldCrypto

extension SigningSecret {
    /// The text that people copy to the receiver: `whsec_…` for `v1`; for `v1a` the private key, `whsk_…`; the text itself for
    /// `text`.
    public var text: String {
        switch scheme {
        case .v1: SecretText.print(bytes)
        // Empty if the bytes are not those of a key.
        case .v1a: (try? Ed25519.PrivateKey(seed: bytes).text) ?? ""
        case .text: String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The public key that the receiver of `v1a` callbacks needs, `whpk_…`; `nil` for the others.
    public var publicKey: String? { verifyingKey?.text }

    package var verifyingKey: Ed25519.PublicKey? {
        scheme == .v1a ? (try? Ed25519.PrivateKey(seed: bytes))?.publicKey : nil
    }

    /// Parses the form of Standard Webhooks, or takes another text as a key for a scheme of the setting `request`. Which keys a
    /// scheme can use is decided with the settings.
    /// - Throws: why it is none, without the text.
    package init(given text: String) throws(KeyTextError) {
        if text.isEmpty || [SecretText.prefix, Ed25519.PrivateKey.prefix].contains(where: text.hasPrefix) {
            try self.init(standard: text)
        } else {
            self.init(.text, bytes: Array(text.utf8))
        }
    }

    /// Parses the form of Standard Webhooks.
    /// - Throws: why it is none, without the text.
    package init(standard text: String) throws(KeyTextError) {
        if text.hasPrefix(SecretText.prefix) {
            self.init(.v1, bytes: try SecretText.parse(text))
        } else if text.hasPrefix(Ed25519.PrivateKey.prefix) {
            self.init(.v1a, bytes: try Ed25519.PrivateKey(text: text).seed)
        } else {
            throw .noKnownPrefix
        }
    }

    /// A new secret.
    /// - Parameter random: 32 random bytes: an Ed25519 seed has the same length as a new secret for HMAC-SHA256.
    package init(_ scheme: Scheme, random: [UInt8]) {
        self.init(scheme, bytes: scheme == .text ? Array(Base64.encode(random).utf8) : random)
    }
}
