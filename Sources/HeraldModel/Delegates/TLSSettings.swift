/// Additional TLS settings of a delegate; version 1.2 or newer and the verification of certificates are always
/// required.
///
/// Prints without the key, so that it can't reach a log by accident.
public struct TLSSettings: Equatable, Sendable {
    /// CA certificates (PEM) to trust for the receiver in place of all others; `nil` for the service's.
    public var authorities: String?
    /// The SHA-256 of the receiver's public key (DER), in base64. The certificate is verified as well.
    public var pin: String?
    /// Herald's client certificate (PEM), followed by the intermediate certificates.
    public var clientCertificate: String?
    /// The private key of `clientCertificate` (PEM).
    public var clientKey: String?

    /// - Parameters:
    ///   - authorities: certificates (PEM) to trust in place of all others.
    ///   - pin: the SHA-256 of the receiver's public key (DER), in base64.
    ///   - clientCertificate: Herald's certificate chain (PEM).
    ///   - clientKey: its private key (PEM).
    public init(
        authorities: String? = nil, pin: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil
    ) {
        self.authorities = authorities
        self.pin = pin
        self.clientCertificate = clientCertificate
        self.clientKey = clientKey
    }

    /// Whether nothing is set.
    package var isEmpty: Bool { self == TLSSettings() }
}

extension TLSSettings: CustomStringConvertible, CustomReflectable {
    /// The settings without the key.
    public var description: String {
        let parts = [
            authorities.map { _ in "authorities" }, pin.map { "pin \($0)" },
            clientCertificate.map { _ in "certificate" },
        ]
        return "TLS(\(parts.compactMap(\.self).joined(separator: ", ")))"
    }
    /// Empty, so that `dump` shows no key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
