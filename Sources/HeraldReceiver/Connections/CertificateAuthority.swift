internal import CHeraldSSL
internal import HeraldCrypto

/// A private certificate authority that exists as long as this object: created on the fly, for tests.
///
/// `@unchecked Sendable`: key and certificate never change after `init`, and OpenSSL counts references to them
/// atomically.
package final class CertificateAuthority: @unchecked Sendable {
    private let key: OpaquePointer
    private let certificate: OpaquePointer
    /// Its certificate as PEM: a client that trusts it trusts the receiver.
    package let pem: String

    private static let dayInSeconds = 86_400

    package init() throws(ReceiverError) {
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
        pem = Self.text { herald_certificate_text(certificate, $0, $1) }
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    /// A certificate with its key, both PEM, for a server or a client with these names.
    package struct Identity: Sendable {
        package let certificate: String
        package let key: String
        /// The SHA-256 of the public key (DER), in base64.
        package let pin: String
    }

    /// - Parameters:
    ///   - names: host names and addresses.
    ///   - isExpired: whether it expired a day ago.
    package func makeIdentity(
        names: [String] = ["localhost", "127.0.0.1", "::1"], isExpired: Bool = false
    ) throws(ReceiverError) -> Identity {
        guard let key = herald_new_key() else { throw .tlsFailed("making a key") }
        defer { EVP_PKEY_free(key) }
        let certificate = try sign(key, names: names, isExpired: isExpired)
        defer { X509_free(certificate) }
        return Identity(
            certificate: Self.text { herald_certificate_text(certificate, $0, $1) },
            key: Self.text { herald_key_text(key, $0, $1) }, pin: try Self.pin(of: key))
    }

    private static func pin(of key: OpaquePointer) throws(ReceiverError) -> String {
        var digest = [UInt8](repeating: 0, count: 32)
        guard herald_key_digest(key, &digest) == 1 else { throw .tlsFailed("hashing a key") }
        return Base64.encode(digest)
    }

    private static func text(_ write: (UnsafeMutablePointer<CChar>?, Int) -> Int) -> String {
        let text = [UInt8](unsafeUninitializedCapacity: 8192) { bytes, count in
            count = bytes.withMemoryRebound(to: CChar.self) { write($0.baseAddress, $0.count) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A new key and certificate of a server, in a context for TLS sessions.
    func serverContext(_ settings: ReceiverTLS) throws(ReceiverError) -> TLSContext {
        guard let serverKey = herald_new_key() else { throw .tlsFailed("making a key") }
        defer { EVP_PKEY_free(serverKey) }
        let serverCertificate = try sign(serverKey, names: settings.names, isExpired: settings.isExpired)
        defer { X509_free(serverCertificate) }
        let pin = try Self.pin(of: serverKey)
        guard
            let context = herald_tls_context(
                serverCertificate, serverKey, settings.clientAuthority?.certificate, settings.offersHTTP2 ? 1 : 0,
                settings.oldCiphers)
        else { throw .tlsFailed("preparing TLS") }
        return TLSContext(context, pin: pin)
    }

    /// A certificate for a key, to be freed by the caller.
    private func sign(_ key: OpaquePointer, names: [String], isExpired: Bool) throws(ReceiverError) -> OpaquePointer {
        let texts = names.map { name in
            let isAddress = name.contains(":") || name.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
            return (isAddress ? "IP:" : "DNS:") + name
        }
        let day = Self.dayInSeconds
        let (from, until) = isExpired ? (-2 * day, -day) : (-day, 30 * day)
        guard
            let signed = herald_new_certificate(
                key, "Herald receiver", texts.joined(separator: ","), certificate, self.key, from, until)
        else { throw .tlsFailed("making a certificate for \(names.joined(separator: ", "))") }
        return signed
    }
}

/// The TLS settings of a receiver.
package struct ReceiverTLS: Sendable {
    package var authority: CertificateAuthority
    /// Host names and addresses of the certificate.
    package var names: [String]
    /// Whether the certificate expired a day ago.
    package var isExpired: Bool
    /// Whether HTTP/2 is offered by ALPN.
    package var offersHTTP2: Bool
    /// Clients must have a certificate of this authority; `nil` if they need none.
    package var clientAuthority: CertificateAuthority?
    /// Supports only TLS 1.2, with these suites, in OpenSSL's notation; `nil` for OpenSSL's defaults.
    package var oldCiphers: String?

    package init(
        _ authority: CertificateAuthority, names: [String] = ["localhost", "127.0.0.1", "::1"],
        isExpired: Bool = false, offersHTTP2: Bool = true, clientAuthority: CertificateAuthority? = nil,
        oldCiphers: String? = nil
    ) {
        self.authority = authority
        self.names = names
        self.isExpired = isExpired
        self.offersHTTP2 = offersHTTP2
        self.clientAuthority = clientAuthority
        self.oldCiphers = oldCiphers
    }
}
