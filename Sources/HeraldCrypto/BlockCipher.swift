internal import CHeraldOpenSSL
import Synchronization

/// AES-256 encryption of single blocks of 16 bytes, for building other ciphers. Any thread; the lock is held for one
/// block.
package final class BlockCipher: Sendable {
    package static let keyByteCount = 32

    private let context: Mutex<OpaquePointer>

    /// - Precondition: the key has 32 bytes.
    package init(key: [UInt8]) {
        precondition(key.count == Self.keyByteCount, "a key of AES-256 has 32 bytes")
        _ = try? CryptoLibrary.prepare()
        // Fails only without memory, where Swift's own allocations stop the process too.
        guard let context = herald_block_new(key) else { preconditionFailure("libcrypto has no memory") }
        self.context = Mutex(context)
    }

    deinit { context.withLock { EVP_CIPHER_CTX_free($0) } }

    /// The first 8 bytes of the encrypted block; the block as two numbers, the most significant byte first.
    package func prefix(_ high: UInt64, _ low: UInt64) -> UInt64 {
        let block = (high.bigEndian, low.bigEndian)
        var encrypted: (UInt64, UInt64) = (0, 0)
        let isDone = context.withLock { context in
            withUnsafePointer(to: block) { herald_block_encrypt(context, $0, &encrypted) == 1 }
        }
        // Can't fail with this key and length; unencrypted output must never be used.
        precondition(isDone, "libcrypto did not encrypt a block")
        return UInt64(bigEndian: encrypted.0)
    }
}
