import HeraldCore
import HeraldCrypto
import HeraldJSON
import HeraldModel

/// The fields `secret` and `signature`: the key that signs the callbacks, given by the client or created here.
struct SecretInput: Sendable {
    /// The key given by the client.
    let brought: SigningSecret?
    /// The kind of signature; `nil` if the client does not choose.
    let scheme: SigningSecret.Scheme?

    init(_ reader: inout FieldReader) {
        let scheme = reader.member("signature") { $0.choice($1, $2, default: SigningSecret.Scheme.v1) }
        brought = reader.member("secret") { reader, value, _ in Self.secret(value, &reader) }
        if let brought, let scheme, brought.scheme != scheme {
            reader.wrong("/secret", "is a key for \(brought.scheme.rawValue), but signature says \(scheme.rawValue)")
        }
        self.scheme = scheme ?? brought?.scheme
    }

    private static func secret(_ value: JSONValue, _ reader: inout FieldReader) -> SigningSecret? {
        do throws(KeyTextError) {
            return try SigningSecret(given: value.string ?? "")
        } catch {
            reader.wrong("/secret", error.description)
            return nil
        }
    }

    /// Bytes of a new key.
    static func newBytes() throws(Problem) -> [UInt8] {
        do throws(CryptoError) {
            return try SecretText.newSecret()
        } catch {
            throw Problem(.noRandomness(error.description))
        }
    }
}

extension SecretRotation {
    private static let fields = ["overlap_seconds", "secret", "signature"]

    /// Parses a request for a rotation.
    init(_ document: JSONDocument) throws(Problem) {
        var reader = FieldReader(document, fields: Self.fields)
        let overlap = reader.member("overlap_seconds") { Int64($0.integer($1, $2, Self.overlaps)) }
        let input = SecretInput(&reader)
        try reader.check()
        self.init(
            overlapSeconds: overlap ?? Self.defaultOverlap, input.brought, scheme: input.scheme,
            newBytes: try SecretInput.newBytes())
    }
}
