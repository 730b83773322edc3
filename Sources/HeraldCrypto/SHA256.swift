import CHeraldOpenSSL

package enum SHA256 {
    package static let byteCount = 32

    /// Immutable and never freed, and libcrypto reads it on any thread.
    private nonisolated(unsafe) static let algorithm: OpaquePointer? = {
        _ = try? CryptoLibrary.prepare()
        return herald_sha256_algorithm()
    }()

    /// The digest of `bytes`, 32 bytes. Any thread.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        // Fails only without memory, where Swift's own allocations stop the process too. A digest of zeros must never
        // be compared with anything.
        precondition(herald_sha256(algorithm, bytes, bytes.count, &digest) == 1, "libcrypto has no memory")
        return digest
    }
}
