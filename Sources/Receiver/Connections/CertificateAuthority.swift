internal import CSSL
internal import Crypto

/// A private certificate authority that exists as long as this object does: made on the fly, for tests and trials.
///
/// `@unchecked Sendable`: key and certificate never change after `init`, and OpenSSL counts references to them atomically.
public final class CertificateAuthority: @unchecked Sendable {
    private let key: OpaquePointer
    private let certificate: OpaquePointer
    /// Its certificate as PEM: whoever trusts this trusts the receiver.
    public let pem: String

    private static let dayInSeconds = 86_400

    public init() throws(ReceiverError) {
        do throws(CryptoError) {
            try CryptoLibrary.prepare()
        } catch {
            throw .tlsFailed("starting")
        }
        guard let key = herald_new_key() else { throw .tlsFailed("making a key") }
        let name = "Herald receiver's own authority"
        guard
            let certificate = herald_new_certificate(
                key, name, nil, nil, nil, -Self.dayInSeconds, 30 * Self.dayInSeconds)
        else {
            EVP_PKEY_free(key)
            throw .tlsFailed("making a certificate")
        }
        self.key = key
        self.certificate = certificate
        let text = [UInt8](unsafeUninitializedCapacity: 8192) { bytes, count in
            count = bytes.withMemoryRebound(to: CChar.self) {
                herald_certificate_text(certificate, $0.baseAddress, $0.count)
            }
        }
        pem = String(decoding: text, as: UTF8.self)
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    /// A new key and certificate of a server, in a context for TLS sessions.
    func serverContext(_ settings: ReceiverTLS) throws(ReceiverError) -> TLSContext {
        guard let serverKey = herald_new_key() else { throw .tlsFailed("making a key") }
        defer { EVP_PKEY_free(serverKey) }
        let names = settings.names.map { name in
            let isAddress = name.contains(":") || name.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
            return (isAddress ? "IP:" : "DNS:") + name
        }
        let day = Self.dayInSeconds
        let (from, until) = settings.isExpired ? (-2 * day, -day) : (-day, 30 * day)
        guard
            let serverCertificate = herald_new_certificate(
                serverKey, "Herald receiver", names.joined(separator: ","), certificate, key, from, until)
        else { throw .tlsFailed("making a certificate for \(settings.names.joined(separator: ", "))") }
        defer { X509_free(serverCertificate) }
        guard let context = herald_tls_context(serverCertificate, serverKey, settings.offersHTTP2 ? 1 : 0) else {
            throw .tlsFailed("preparing TLS")
        }
        return TLSContext(context)
    }
}

/// How a receiver speaks TLS.
public struct ReceiverTLS: Sendable {
    public var authority: CertificateAuthority
    /// Host names and addresses that the certificate is for.
    public var names: [String]
    /// Whether the certificate has ceased to be valid a day ago.
    public var isExpired: Bool
    /// Whether HTTP/2 is offered by ALPN.
    public var offersHTTP2: Bool

    public init(
        _ authority: CertificateAuthority, names: [String] = ["localhost", "127.0.0.1", "::1"],
        isExpired: Bool = false, offersHTTP2: Bool = true
    ) {
        self.authority = authority
        self.names = names
        self.isExpired = isExpired
        self.offersHTTP2 = offersHTTP2
    }
}
