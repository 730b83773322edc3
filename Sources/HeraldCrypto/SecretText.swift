/// The text form of a signing secret according to Standard Webhooks: `whsec_` and the base 64 of 24–64 bytes.
///
/// It is next to base 64, and not next to the signer, because the REST layer uses secrets without knowing the signer.
package enum SecretText {
    package static let prefix = "whsec_"
    package static let byteCounts = 24...64

    /// The bytes of a new secret.
    package static func newSecret() throws(CryptoError) -> [UInt8] { try randomBytes(32) }

    package static func print(_ bytes: [UInt8]) -> String { prefix + Base64.encode(bytes) }

    /// Parses the text of a secret. The error never quotes the text.
    package static func parse(_ text: String) throws(SecretTextError) -> [UInt8] {
        guard text.hasPrefix(prefix) else { throw .noPrefix }
        guard let bytes = Base64.decode(text.dropFirst(prefix.count)) else { throw .notBase64 }
        guard byteCounts.contains(bytes.count) else { throw .wrongLength(bytes.count) }
        return bytes
    }
}

package enum SecretTextError: Error, Equatable, Sendable, CustomStringConvertible {
    case noPrefix
    case notBase64
    case wrongLength(Int)

    package var description: String {
        switch self {
        case .noPrefix: "must begin with \"\(SecretText.prefix)\""
        case .notBase64: "must be \"\(SecretText.prefix)\" followed by base64 with the standard alphabet and padding"
        case .wrongLength(let count): "must hold 24 to 64 bytes, but holds \(count)"
        }
    }
}
