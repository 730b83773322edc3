import HeraldCrypto
package import HeraldModel

/// The sender's validation of a webhook's settings: its URL and its TLS requirements. Any thread.
package struct CallbackRules: Sendable {
    private let addressGuard: AddressGuard

    package init(_ addressGuard: AddressGuard) { self.addressGuard = addressGuard }

    /// All errors, with the field names of the HTTP API. Normalizes the URL to the form in which it is stored and
    /// compared.
    package func problems(of settings: inout WebhookSettings) -> [FieldError] {
        problems(ofURL: &settings.url, "/url") + Self.tlsProblems(of: settings) + tokenProblems(of: settings)
    }

    /// Checks the form of the URL, and its address if it contains one. Names are checked when they are resolved.
    private func problems(ofURL text: inout String, _ pointer: String) -> [FieldError] {
        do throws(CallbackURLError) {
            let url = try CallbackURL(text)
            text = url.text
            guard case .refused(let rule) = addressGuard.authorize(url) else { return [] }
            return [FieldError(pointer, "is an address that callbacks must not reach: \(rule)")]
        } catch {
            return [FieldError(pointer, error.description)]
        }
    }

    /// The authorization server is called as receivers are.
    private func tokenProblems(of settings: WebhookSettings) -> [FieldError] {
        guard case .oauth2(let client) = settings.request.flatMap({ RecipePlan($0) })?.auth else { return [] }
        var url = client.tokenURL
        return problems(ofURL: &url, "/request/auth/oauth2/token_url")
    }

    // MARK: TLS

    /// Maximum size of each text.
    private static let maxBytes = 65_536
    /// Maximum number of certificates in each text. Each connection parses them, on the thread that all receivers share.
    private static let maxCertificates = 16

    private static func tlsProblems(of settings: WebhookSettings) -> [FieldError] {
        let tls = settings.tls
        if tls.isEmpty { return [] }
        var errors: [FieldError] = []
        func check(_ isRight: Bool, _ pointer: String, _ detail: String) {
            if !isRight { errors.append(FieldError(pointer, detail)) }
        }
        func isText(_ text: String) -> Bool { (1...maxBytes).contains(text.utf8.count) && !text.utf8.contains(0) }
        func checkCertificates(_ text: String?, _ pointer: String) {
            guard let text else { return }
            check(
                isText(text) && (1...maxCertificates).contains(Certificates.count(in: text)), pointer,
                "must be 1 to \(maxCertificates) certificates in PEM (-----BEGIN CERTIFICATE-----), "
                    + "at most \(maxBytes) bytes")
        }
        check(
            !settings.url.hasPrefix("http://"), "/tls",
            "needs a URL that begins with https://: without TLS there is nothing to check")
        checkCertificates(tls.authorities, "/tls/ca")
        checkCertificates(tls.clientCertificate, "/tls/client_certificate")
        if let pin = tls.pin {
            check(
                pin.utf8.count == 44 && Base64.decode(pin)?.count == 32, "/tls/pin",
                "must be the SHA-256 of the receiver's public key (DER) in base64: 44 characters")
        }
        switch (tls.clientCertificate, tls.clientKey) {
        case (nil, nil): break
        case (nil, _): check(false, "/tls/client_certificate", "is required with client_key")
        case (_, nil): check(false, "/tls/client_key", "is required with client_certificate")
        case (let certificate?, let key?):
            // Text that is no certificate was reported above, and no key can match it.
            guard Certificates.count(in: certificate) > 0 else { break }
            switch isText(key) ? Certificates.check(key: key, of: certificate) : .unreadable {
            case .fits: break
            case .unreadable:
                check(
                    false, "/tls/client_key",
                    "must be a private key in PEM (-----BEGIN PRIVATE KEY-----), not encrypted")
            case .mismatch: check(false, "/tls/client_key", "does not belong to client_certificate")
            // Each connection signs with it, on the thread that all receivers share.
            case .tooLong:
                check(false, "/tls/client_key", "must have at most \(Certificates.mostKeyBits) bits")
            }
        }
        return errors
    }
}

extension CurlSender {
    package func problems(of settings: inout WebhookSettings) -> [FieldError] {
        CallbackRules(configuration.addressGuard).problems(of: &settings)
    }
}
