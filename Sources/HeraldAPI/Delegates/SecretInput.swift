import HeraldCore
import HeraldCrypto
import HeraldJSON

/// The fields `secret` and `signature`: the key that signs the callbacks, given by the client or created here.
struct SecretInput: Sendable {
    /// The key given by the client.
    let brought: SigningSecret?
    /// The kind of signature; `nil` if the client does not choose.
    let scheme: SigningSecret.Scheme?

    init(_ document: JSONDocument, _ reader: inout FieldReader) {
        var scheme: SigningSecret.Scheme?
        if let value = document["signature"], !value.isNull {
            scheme = reader.choice(value, "/signature", default: .v1)
        }
        brought = document["secret"].flatMap { $0.isNull ? nil : Self.secret($0, &reader) }
        if let brought, let scheme, brought.scheme != scheme {
            reader.wrong("/secret", "is a key for \(brought.scheme.rawValue), but signature says \(scheme.rawValue)")
        }
        self.scheme = scheme ?? brought?.scheme
    }

    private static func secret(_ value: JSONValue, _ reader: inout FieldReader) -> SigningSecret? {
        guard let text = value.string, let scheme = SigningSecret.Scheme(ofText: text) else {
            reader.wrong("/secret", "must be a string that begins with whsec_ (for v1) or whsk_ (for v1a)")
            return nil
        }
        do {
            switch scheme {
            case .v1: return SigningSecret(.v1, bytes: try SecretText.parse(text))
            case .v1a: return SigningSecret(.v1a, bytes: try Ed25519.PrivateKey(text: text).seed)
            }
        } catch let error as SecretTextError {
            reader.wrong("/secret", error.description)
        } catch let error as Ed25519TextError {
            reader.wrong("/secret", error.description)
        } catch {
            reader.wrong("/secret", "can't be used: \(error)")
        }
        return nil
    }

    /// Bytes of a new key: an Ed25519 seed has the same length as a new HMAC-SHA256 secret.
    static func newBytes() throws(Problem) -> [UInt8] {
        do throws(CryptoError) {
            return try SecretText.newSecret()
        } catch {
            throw .unavailable("no-randomness", "The secret could not be created", error.description)
        }
    }
}

extension SigningSecret.Scheme {
    fileprivate init?(ofText text: String) {
        if text.hasPrefix(SecretText.prefix) {
            self = .v1
        } else if text.hasPrefix(Ed25519.PrivateKey.prefix) {
            self = .v1a
        } else {
            return nil
        }
    }
}

extension SigningSecret {
    /// The form of Standard Webhooks: `whsec_…` or `whsk_…`. For the one response that contains it.
    var text: String {
        switch scheme {
        case .v1: SecretText.print(bytes)
        case .v1a: (try? Ed25519.PrivateKey(seed: bytes).text) ?? ""
        }
    }

    /// The public key that verifies `v1a` callbacks; `nil` for `v1`.
    var publicKey: Ed25519.PublicKey? { scheme == .v1a ? try? Ed25519.PrivateKey(seed: bytes).publicKey : nil }
}
