package import HeraldCrypto

extension SigningSecret {
    /// The text that people copy to the receiver: `whsec_…` for `v1`; for `v1a` the private key, `whsk_…`; the text itself for
    /// `text`.
    public var text: String { keyText?.text ?? String(decoding: bytes, as: UTF8.self) }

    /// The public key that the receiver of `v1a` callbacks needs, `whpk_…`; `nil` for the others.
    public var publicKey: String? { verifyingKey?.text }

    package var verifyingKey: Ed25519.PublicKey? { keyText?.publicKey }

    private var keyText: SigningKeyText? {
        switch scheme {
        case .v1: .shared(bytes)
        case .v1a: .pair(seed: bytes)
        case .text: nil
        }
    }

    /// Parses the form of Standard Webhooks.
    /// - Throws: why it is none, without the text.
    package init(standard text: String) throws(KeyTextError) {
        switch try SigningKeyText(parsing: text) {
        case .shared(let bytes): self.init(.v1, bytes: bytes)
        case .pair(let seed): self.init(.v1a, bytes: seed)
        }
    }

    /// A new secret.
    /// - Parameter random: 32 random bytes: an Ed25519 seed has the same length as a new secret for HMAC-SHA256.
    package init(_ scheme: Scheme, random: [UInt8]) {
        self.init(scheme, bytes: scheme == .text ? Array(Base64.encode(random).utf8) : random)
    }
}
