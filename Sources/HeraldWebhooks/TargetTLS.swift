import HeraldCore

/// What a delegate asks of TLS, as libcurl takes it.
struct TargetTLS {
    let authorities: String?
    let pin: String?
    let certificate: String?
    let key: String?

    /// `nil` when it asks for nothing.
    init?(_ delegate: WebhookDelegate) {
        let settings = delegate.settings.tls
        if settings.isEmpty { return nil }
        authorities = settings.authorities
        pin = settings.pin.map { "sha256//\($0)" }
        // What stands before the first certificate is no part of it, but libcurl compares the whole text: so no two
        // delegates ever share a connection or a session that was opened with a client certificate.
        certificate = settings.clientCertificate.map { "delegate \(delegate.key)\n\($0)" }
        key = settings.clientKey
    }
}

/// Texts as C strings that live as long as `body` runs.
func withCStrings<Result>(_ texts: [String?], _ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
    let bytes = texts.map { $0.map { Array($0.utf8CString) } }
    func next(_ pointers: [UnsafePointer<CChar>?]) -> Result {
        guard pointers.count < bytes.count else { return body(pointers) }
        guard let text = bytes[pointers.count] else { return next(pointers + [nil]) }
        return text.withUnsafeBufferPointer { next(pointers + [$0.baseAddress]) }
    }
    return next([])
}
