import CHeraldOpenSSL

/// libcrypto, initialized once per process.
package enum CryptoLibrary {
    /// Initializes libcrypto without a configuration file, so that `OPENSSL_CONF` in the environment can load nothing
    /// into the process. Everything in this module calls it; other users of OpenSSL in the process, such as libcurl,
    /// must come after it. Any thread, any number of times.
    package static func prepare() throws(CryptoError) {
        guard isPrepared else { throw .libraryFailed("initialising libcrypto") }
    }

    private static let isPrepared = herald_openssl_prepare() == 1
}

package enum CryptoError: Error, Equatable, Sendable, CustomStringConvertible {
    /// libcrypto reported a failure, which happens only without memory or randomness.
    case libraryFailed(String)
    /// A key that the algorithm can't use. The text never quotes it.
    case invalidKey(String)
    /// A signature scheme that has problems.
    case invalidScheme(String)

    package var description: String {
        switch self {
        case .libraryFailed(let action): "OpenSSL failed when \(action)."
        case .invalidKey(let problem): "The key \(problem)."
        case .invalidScheme(let problem): "The signature scheme is invalid: \(problem)."
        }
    }
}
