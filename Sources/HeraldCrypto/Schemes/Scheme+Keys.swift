extension Scheme {
    /// The use of a key: Ed25519 signs with one half of a pair, and verifies with the other one.
    package enum KeyUse: Sendable { case signing, verifying }

    /// The bytes of a key.
    /// - Parameters:
    ///   - text: the secret, as it is shown to people.
    ///   - use: Ed25519 needs a seed to sign, and a public key to verify.
    /// - Throws: why the text is invalid. The error never quotes it.
    package func key(_ text: String, for use: KeyUse) throws(SchemeKeyError) -> [UInt8] {
        switch (algorithm, key) {
        case (.ed25519, _):
            return try Self.ed25519Key(text, use)
        case (.token, _):
            guard (1...Self.maxTokenBytes).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e) ~= $0 })
            else {
                throw SchemeKeyError("must be 1 to \(Self.maxTokenBytes) visible ASCII characters without spaces")
            }
            return Array(text.utf8)
        case (_, .text):
            guard !text.isEmpty else { throw SchemeKeyError("must not be empty") }
            return Array(text.utf8)
        case (_, .whsec):
            do throws(KeyTextError) {
                return try SecretText.parse(text)
            } catch {
                throw SchemeKeyError(error.description)
            }
        }
    }

    /// The limit of Telegram.
    private static let maxTokenBytes = 256

    private static func ed25519Key(_ text: String, _ use: KeyUse) throws(SchemeKeyError) -> [UInt8] {
        if let bytes = Hex.decode(text), bytes.count == Ed25519.seedByteCount { return bytes }
        do throws(KeyTextError) {
            return switch use {
            case .signing: try Ed25519.PrivateKey(text: text).seed
            case .verifying: try Ed25519.PublicKey(text: text).bytes
            }
        } catch .noPrefix(let prefix) {
            throw SchemeKeyError("must begin with \(prefix), or be 64 hexadecimal digits in lower case")
        } catch {
            throw SchemeKeyError(error.description)
        }
    }
}

/// Why the text of a key is invalid.
package struct SchemeKeyError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Follows "the secret".
    package let description: String

    init(_ description: String) { self.description = description }
}
