/// The text form of a signing secret according to Standard Webhooks: `whsec_` and the base 64 of 24–64 bytes.
///
/// It is next to base 64, and not next to the signer, because the REST layer uses secrets without knowing the signer.
package enum SecretText {
    package static let prefix = "whsec_"
    package static let byteCounts = 24...64

    /// The bytes of a new secret.
    package static func newSecret() throws(CryptoError) -> [UInt8] { try randomBytes(32) }

    package static func print(_ bytes: [UInt8]) -> String { prefix + Base64.encode(bytes) }

    /// The text of a secret of Svix, whose prefix is optional. Base 64 may begin with `wh`, too.
    package static func prefixed(_ text: String) -> String {
        text.hasPrefix("wh") && text.contains("_") ? text : prefix + text
    }

    /// Parses the text of a secret. The error never quotes the text.
    package static func parse(_ text: String) throws(KeyTextError) -> [UInt8] {
        let bytes = try KeyTextError.decode(text, after: prefix)
        guard byteCounts.contains(bytes.count) else { throw .wrongLength(bytes.count, expected: "24 to 64") }
        return bytes
    }
}
