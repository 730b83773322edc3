import CHeraldOpenSSL

/// Ed25519 signatures (RFC 8032): 64 bytes, made with a private key, verified with the public one.
package enum Ed25519 {
    package static let seedByteCount = 32
    package static let publicKeyByteCount = 32
    package static let signatureByteCount = 64

    /// A key pair. Prints as `***`, so that it can't reach a log by accident. Any thread.
    ///
    /// `@unchecked Sendable`: libcrypto's keys are immutable after their creation, with atomic reference counts.
    package final class PrivateKey: @unchecked Sendable {
        /// 32 bytes, from which the key pair is derived.
        package let seed: [UInt8]
        package let publicKey: PublicKey

        private let key: OpaquePointer

        package init(seed: [UInt8]) throws(Ed25519Error) {
            guard seed.count == seedByteCount else { throw .seedLength(seed.count) }
            guard (try? CryptoLibrary.prepare()) != nil, let key = herald_ed25519_private(seed) else {
                throw .library(.libraryFailed("making an Ed25519 key"))
            }
            var bytes = [UInt8](repeating: 0, count: publicKeyByteCount)
            guard herald_ed25519_public_bytes(key, &bytes) == 1 else {
                EVP_PKEY_free(key)
                throw .library(.libraryFailed("reading an Ed25519 key"))
            }
            self.seed = seed
            self.key = key
            publicKey = PublicKey(checked: bytes)
        }

        deinit { EVP_PKEY_free(key) }

        /// The signature, 64 bytes.
        package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
            var signature = [UInt8](repeating: 0, count: signatureByteCount)
            guard herald_ed25519_sign(key, message, message.count, &signature) == 1 else {
                throw .libraryFailed("signing")
            }
            return signature
        }
    }

    /// The public key, which can only verify signatures.
    package struct PublicKey: Hashable, Sendable {
        /// The 32 bytes of the key.
        package let bytes: [UInt8]

        package init(bytes: [UInt8]) throws(Ed25519Error) {
            guard bytes.count == publicKeyByteCount else { throw .publicKeyLength(bytes.count) }
            self.bytes = bytes
        }

        /// - Parameter bytes: 32 bytes.
        init(checked bytes: [UInt8]) { self.bytes = bytes }

        /// Whether the signature of exactly this message was made with the private key. Any thread.
        package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
            guard signature.count == signatureByteCount, (try? CryptoLibrary.prepare()) != nil,
                let key = herald_ed25519_public(bytes)
            else { return false }
            defer { EVP_PKEY_free(key) }
            return herald_ed25519_verify(key, message, message.count, signature) == 1
        }
    }
}

extension Ed25519.PrivateKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

package enum Ed25519Error: Error, Equatable, Sendable, CustomStringConvertible {
    case seedLength(Int)
    case publicKeyLength(Int)
    case library(CryptoError)

    package var description: String {
        switch self {
        case .seedLength(let count): "The seed of an Ed25519 key has 32 bytes, this one has \(count)."
        case .publicKeyLength(let count): "An Ed25519 public key has 32 bytes, this one has \(count)."
        case .library(let error): error.description
        }
    }
}
