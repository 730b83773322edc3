import CHeraldOpenSSL

/// libcrypto, prepared once for the process.
public enum CryptoLibrary {
    /// Makes libcrypto ready without reading a configuration file, so that `OPENSSL_CONF` in the environment can load
    /// nothing into the process. Everything in this module calls it; whoever else uses OpenSSL in the process, as
    /// libcurl does, has to come after it. Any thread, any number of times.
    public static func prepare() throws(CryptoError) {
        guard isPrepared else { throw .libraryFailed("initialising libcrypto") }
    }

    private static let isPrepared = herald_openssl_prepare() == 1
}

public enum CryptoError: Error, Equatable, Sendable, CustomStringConvertible {
    /// libcrypto reported a failure, which it does only when memory or the source of randomness is gone.
    case libraryFailed(String)

    public var description: String {
        switch self {
        case .libraryFailed(let action): "OpenSSL failed when \(action)."
        }
    }
}
