import HeraldCrypto
public import HeraldModel

extension SigningSecret {
    /// A new secret, of 32 random bytes.
    /// - Parameter scheme: the kind of signature.
    /// - Throws: `HubError.noRandomness` if the system provides no random bytes.
    public static func random(_ scheme: Scheme = .v1) throws(HubError) -> SigningSecret {
        SigningSecret(scheme, random: try newBytes())
    }

    static func newBytes() throws(HubError) -> [UInt8] {
        do throws(CryptoError) {
            return try SecretText.newSecret()
        } catch {
            throw .noRandomness(error.description)
        }
    }

    /// The key with a text, as in the field `secret` of the HTTP API.
    /// - Parameter text: for `v1` `whsec_` and the base64 of 24 to 64 bytes; for `v1a` `whsk_` and the base64 of a key pair; for
    ///   `text` another one of 16 to 128 visible ASCII characters. The hub validates it at the registration.
    /// - Throws: `HubError.invalid`, which says what is wrong, without the text.
    public init(text: String) throws(HubError) {
        do throws(KeyTextError) {
            try self.init(given: text)
        } catch {
            throw .invalid([FieldError("/secret", error.description)])
        }
    }
}
