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
        do throws(SigningKeyTextError) {
            switch try SigningKeyText(parsing: value.string ?? "") {
            case .shared(let bytes): return SigningSecret(.v1, bytes: bytes)
            case .pair(let seed): return SigningSecret(.v1a, bytes: seed)
            }
        } catch {
            reader.wrong("/secret", error.description)
            return nil
        }
    }

    /// Bytes of a new key: an Ed25519 seed has the same length as a new HMAC-SHA256 secret.
    static func newBytes() throws(Problem) -> [UInt8] {
        do throws(CryptoError) {
            return try SecretText.newSecret()
        } catch {
            throw Problem(.noRandomness(error.description))
        }
    }
}

extension SigningSecret {
    /// The form of Standard Webhooks: `whsec_…` or `whsk_…`. For the one response that contains it.
    var text: String { keyText.text }

    /// The public key that verifies `v1a` callbacks; `nil` for `v1`.
    var publicKey: Ed25519.PublicKey? { keyText.publicKey }

    private var keyText: SigningKeyText { scheme == .v1 ? .shared(bytes) : .pair(seed: bytes) }
}

extension SecretRotation {
    private static let fields = ["overlap_seconds", "secret", "signature"]

    /// Parses a request for a rotation.
    init(_ document: JSONDocument) throws(Problem) {
        var reader = FieldReader()
        reader.wrong(document.errors(unlessObjectOf: Self.fields))
        var overlap = Self.defaultOverlap
        if let value = document["overlap_seconds"], !value.isNull {
            overlap = Int64(reader.integer(value, "/overlap_seconds", Self.overlaps))
        }
        let input = SecretInput(document, &reader)
        try reader.check()
        self.init(
            overlapSeconds: overlap, input.brought, scheme: input.scheme, newBytes: try SecretInput.newBytes())
    }
}
