internal import CHeraldGnuTLS
import Glibc

/// The server's TLS certificate: a chain and the key of its first certificate.
///
/// `@unchecked Sendable`: never changed after its creation, and GnuTLS only reads it.
package final class ServerCertificate: @unchecked Sendable {
    /// When the first certificate expires, in seconds since 1970 UTC.
    package let expiration: Int64
    /// Since when the first certificate is valid, in seconds since 1970 UTC.
    package let activation: Int64
    /// As a NUL-terminated text, because libmicrohttpd requires a certificate.
    let chainText: UnsafeMutablePointer<CChar>
    let keyText: UnsafeMutablePointer<CChar>
    let credentials: gnutls_certificate_credentials_t

    /// - Parameters:
    ///   - chain: PEM; the server's certificate, followed by the intermediate certificates.
    ///   - key: PEM, not encrypted.
    package init(chain: [UInt8], key: [UInt8]) throws(ServerCertificateError) {
        guard chain.count <= Self.maxBytes, herald_tls_is_chain(chain, UInt32(chain.count)) != 0 else {
            throw .notACertificate
        }
        guard key.count <= Self.maxBytes else { throw .notAKey("it is too large") }
        var loaded: gnutls_certificate_credentials_t?
        let code = herald_tls_load(chain, UInt32(chain.count), key, UInt32(key.count), &loaded)
        switch code {
        case HERALD_TLS_OK: break
        case HERALD_TLS_MISMATCH: throw .mismatch
        case HERALD_TLS_ENCRYPTED: throw .encryptedKey
        default: throw .notAKey(String(cString: gnutls_strerror(code)))
        }
        guard let loaded else { throw .notAKey("there is no memory") }
        credentials = loaded
        expiration = herald_tls_expiration(loaded)
        activation = herald_tls_activation(loaded)
        chainText = Self.text(chain)
        keyText = Self.text(key)
    }

    deinit {
        gnutls_certificate_free_credentials(credentials)
        explicit_bzero(keyText, strlen(keyText))
        keyText.deallocate()
        chainText.deallocate()
    }

    /// Whether clients that connect to this host name or address accept the first certificate's names.
    package func covers(_ name: String) -> Bool { herald_tls_covers(credentials, name) != 0 }

    private static func text(_ bytes: [UInt8]) -> UnsafeMutablePointer<CChar> {
        let text = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        for (index, byte) in bytes.enumerated() { text[index] = CChar(bitPattern: byte) }
        text[bytes.count] = 0
        return text
    }

    private static let maxBytes = 1 << 20
}

/// Why a certificate can't be used, for the operator.
package enum ServerCertificateError: Error, Equatable, Sendable, CustomStringConvertible {
    case notACertificate
    case notAKey(String)
    case encryptedKey
    case mismatch

    package var description: String {
        switch self {
        case .notACertificate: "the certificate is not one in PEM (-----BEGIN CERTIFICATE-----)"
        case .notAKey(let reason): "the key is not a private key in PEM: \(reason)"
        case .encryptedKey: "the key is encrypted: store it without a password, readable for Herald alone"
        case .mismatch: "the key does not belong to the certificate"
        }
    }
}
