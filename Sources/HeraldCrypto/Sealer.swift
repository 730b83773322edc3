import CHeraldOpenSSL

/// Encrypts secrets for the disk with AES-256-GCM: without the key they can't be read, or changed unnoticed.
///
/// A sealed value names its key and is bound to its context, the name of its column: a value that was moved elsewhere
/// does not open. The format: the version (1 byte), the key's id (8), a random nonce (12), the ciphertext, the tag
/// (16). Random nonces are safe for 2³² values under one key. Any thread.
package struct Sealer: Sendable {
    /// The additional length of a sealed value.
    package static let overhead = textStart + tagByteCount

    private static let version: UInt8 = 1
    private static let nonceStart = 1 + MasterKey.idByteCount
    private static let nonceByteCount = 12
    private static let textStart = nonceStart + nonceByteCount
    private static let tagByteCount = 16

    private let key: MasterKey

    package init(_ key: MasterKey) { self.key = key }

    package func seal(_ bytes: [UInt8], context: String) throws(CryptoError) -> [UInt8] {
        let nonce = try randomBytes(Self.nonceByteCount)
        let context = Array(context.utf8)
        var text = [UInt8](repeating: 0, count: bytes.count + Self.tagByteCount)
        guard let count = Int32(exactly: bytes.count), let contextCount = Int32(exactly: context.count),
            herald_gcm_seal(key.bytes, nonce, context, contextCount, bytes, count, &text) == 1
        else { throw .libraryFailed("sealing a secret") }
        return [Self.version] + key.id + nonce + text
    }

    /// The bytes that were sealed with the same context.
    package func open(_ sealed: [UInt8], context: String) throws(SealError) -> [UInt8] {
        guard let id = Self.keyID(of: sealed) else { throw .notSealed }
        guard id == key.id else { throw .otherKey }
        let nonce = Array(sealed[Self.nonceStart..<Self.textStart])
        let text = Array(sealed[Self.textStart...])
        let context = Array(context.utf8)
        var bytes = [UInt8](repeating: 0, count: text.count - Self.tagByteCount)
        guard let count = Int32(exactly: bytes.count), let contextCount = Int32(exactly: context.count),
            herald_gcm_open(key.bytes, nonce, context, contextCount, text, count, &bytes) == 1
        else { throw .damaged }
        return bytes
    }

    /// The key of a sealed value; `nil` if the bytes do not look sealed. Plain bytes may look sealed too: where both
    /// occur, they must be distinguished by other means.
    package static func keyID(of sealed: [UInt8]) -> [UInt8]? {
        guard sealed.count >= overhead, sealed.first == version else { return nil }
        return Array(sealed[1..<nonceStart])
    }
}

/// Why a sealed value does not open.
package enum SealError: Error, Equatable, Sendable, CustomStringConvertible {
    case notSealed
    case otherKey
    case damaged

    package var description: String {
        switch self {
        case .notSealed: "The value is not sealed."
        case .otherKey: "The value was sealed under another master key."
        case .damaged: "The sealed value is damaged, or was sealed for another column."
        }
    }
}
