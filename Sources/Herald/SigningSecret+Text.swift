public import HeraldCore
import HeraldCrypto

extension SigningSecret {
    /// A new secret, of 32 random bytes.
    /// - Parameter scheme: the kind of signature.
    /// - Throws: `HubError.noRandomness` if the system provides no random bytes.
    public static func random(_ scheme: Scheme = .v1) throws(HubError) -> SigningSecret {
        SigningSecret(scheme, bytes: try newBytes())
    }

    static func newBytes() throws(HubError) -> [UInt8] {
        do throws(CryptoError) {
            // An Ed25519 seed has the same length as a new secret for HMAC-SHA256.
            return try SecretText.newSecret()
        } catch {
            throw .noRandomness(error.description)
        }
    }

    /// Parses the text form of Standard Webhooks.
    /// - Parameter text: for `v1` `whsec_` and the base64 of 24 to 64 bytes; for `v1a` `whsk_` and the base64 of a key pair.
    /// - Throws: `HubError.invalid`, which says what is wrong, without the text.
    public init(text: String) throws(HubError) {
        do throws(SigningKeyTextError) {
            switch try SigningKeyText(parsing: text) {
            case .shared(let bytes): self.init(.v1, bytes: bytes)
            case .pair(let seed): self.init(.v1a, bytes: seed)
            }
        } catch {
            throw .invalid([FieldError("/secret", error.description)])
        }
    }

    /// The text form of Standard Webhooks: `whsec_…` for `v1`, which the receiver needs; for `v1a` the private key,
    /// `whsk_…`.
    public var text: String { keyText.text }

    /// The public key that the receiver of `v1a` callbacks needs, `whpk_…`; `nil` for `v1`.
    public var publicKey: String? { keyText.publicKey?.text }

    private var keyText: SigningKeyText { scheme == .v1 ? .shared(bytes) : .pair(seed: bytes) }
}
