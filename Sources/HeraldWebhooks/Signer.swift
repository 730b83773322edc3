import HeraldCrypto
import HeraldModel

/// A signing key of a delegate. Used by one thread at a time.
struct Signer {
    private enum Key {
        case hmac(HMAC)
        case ed25519(Ed25519.PrivateKey)
    }

    private let key: Key
    /// Milliseconds since 1970 UTC.
    let expiresAt: Int64

    init(_ entry: DelegateSecret) throws(TransferError) {
        expiresAt = entry.expiresAt ?? .max
        guard entry.secret.scheme != .text else {
            throw TransferError("The secret is a text, which can't sign by Standard Webhooks.", .addressBlocked)
        }
        let bytes = entry.secret.bytes
        do {
            key = try entry.secret.scheme == .v1 ? .hmac(HMAC(key: bytes)) : .ed25519(Ed25519.PrivateKey(seed: bytes))
        } catch {
            throw TransferError("\(error)", .addressBlocked)
        }
    }

    /// Maximum length of an entry of `webhook-signature`, including the space before it and the terminating 0.
    static let maxEntryCount = 1 + "v1a,".utf8.count + Base64.encodedCount(Ed25519.signatureByteCount) + 1

    /// Writes the entry for `prefix` and `body` to the start of `text`, which must be large enough, and returns its
    /// length.
    func write(
        _ prefix: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, to text: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) -> Int {
        switch key {
        case .hmac(let hmac):
            hmac.update(prefix)
            hmac.update(body)
            var code: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
            return try withUnsafeMutableBytes(of: &code) { code throws(CryptoError) in
                try hmac.finish(into: code)
                return Self.put("v1,", UnsafeRawBufferPointer(code), text)
            }
        case .ed25519(let key):
            // In one buffer, because Ed25519 reads the message twice.
            let signature = try key.sign([UInt8](prefix) + body)
            return signature.withUnsafeBytes { Self.put("v1a,", $0, text) }
        }
    }

    private static func put(
        _ scheme: StaticString, _ signature: UnsafeRawBufferPointer, _ text: UnsafeMutableRawBufferPointer
    ) -> Int {
        let count = scheme.utf8CodeUnitCount
        text.copyMemory(from: UnsafeRawBufferPointer(start: scheme.utf8Start, count: count))
        return count + Base64.encode(signature, into: UnsafeMutableRawBufferPointer(rebasing: text[count...]))
    }
}
