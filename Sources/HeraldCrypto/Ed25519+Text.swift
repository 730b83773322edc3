// The text forms of Ed25519 keys in Standard Webhooks.

extension Ed25519.PrivateKey {
    package static let prefix = "whsk_"

    /// `whsk_` and the base 64 of the seed, followed by the public key.
    package var text: String { Self.prefix + Base64.encode(seed + publicKey.bytes) }

    /// Parses the text of a key. The error never quotes the text.
    package convenience init(text: String) throws(Ed25519TextError) {
        let bytes = try Ed25519TextError.decode(text, after: Self.prefix)
        guard bytes.count == Ed25519.seedByteCount + Ed25519.publicKeyByteCount else {
            throw .wrongLength(bytes.count, expected: Ed25519.seedByteCount + Ed25519.publicKeyByteCount)
        }
        do {
            try self.init(seed: Array(bytes.prefix(Ed25519.seedByteCount)))
        } catch {
            throw .key(error)
        }
        guard publicKey.bytes == Array(bytes.suffix(Ed25519.publicKeyByteCount)) else { throw .notAPair }
    }
}

extension Ed25519.PublicKey: CustomStringConvertible {
    package static let prefix = "whpk_"

    /// `whpk_` and the base 64 of the key.
    package var text: String { Self.prefix + Base64.encode(bytes) }
    package var description: String { text }

    package init(text: String) throws(Ed25519TextError) {
        let bytes = try Ed25519TextError.decode(text, after: Self.prefix)
        guard bytes.count == Ed25519.publicKeyByteCount else {
            throw .wrongLength(bytes.count, expected: Ed25519.publicKeyByteCount)
        }
        do {
            try self.init(bytes: bytes)
        } catch {
            throw .key(error)
        }
    }
}

/// Why the text of a key is invalid, for the user.
package enum Ed25519TextError: Error, Equatable, Sendable, CustomStringConvertible {
    case noPrefix(String)
    case notBase64(prefix: String)
    case wrongLength(Int, expected: Int)
    /// The two halves of a private key's text do not match.
    case notAPair
    case key(Ed25519Error)

    package var description: String {
        switch self {
        case .noPrefix(let prefix): "must begin with \"\(prefix)\""
        case .notBase64(let prefix):
            "must be \"\(prefix)\" followed by base64 with the standard alphabet and padding"
        case .wrongLength(let count, let expected): "must hold \(expected) bytes, but holds \(count)"
        case .notAPair: "must hold a seed of 32 bytes and the public key that belongs to it"
        case .key(let error): error.description
        }
    }

    fileprivate static func decode(_ text: String, after prefix: String) throws(Ed25519TextError) -> [UInt8] {
        guard text.hasPrefix(prefix) else { throw .noPrefix(prefix) }
        guard let bytes = Base64.decode(text.dropFirst(prefix.count)) else { throw .notBase64(prefix: prefix) }
        return bytes
    }
}
