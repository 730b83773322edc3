import CHeraldCurl
import HeraldModel

/// The TLS requirements of a delegate, in libcurl's form.
struct TargetTLS: Hashable {
    let authorities: String?
    let pin: String?
    let certificate: String?
    let key: String?

    /// `nil` if there are none.
    init?(_ delegate: WebhookDelegate) {
        let settings = delegate.settings.tls
        if settings.isEmpty { return nil }
        authorities = settings.authorities
        pin = settings.pin.map { "sha256//\($0)" }
        // Text before the first certificate is not part of it, but libcurl compares the whole text. So two delegates
        // never share a connection or a session that was opened with a client certificate.
        certificate = settings.clientCertificate.map { "delegate \(delegate.key)\n\($0)" }
        key = settings.clientKey
    }
}

/// The TLS sessions of a target, which outlive the libcurl handles that made them. Two targets never share a session.
///
/// libcurl requires that the handles that use it are freed first: each transfer holds its target until then.
final class TLSSessions {
    let handle: UnsafeMutableRawPointer

    /// `nil` if libcurl has no memory. Each connection makes a session of its own then.
    init?() {
        guard let handle = curl_share_init() else { return nil }
        self.handle = handle
        guard herald_share_sessions(handle) == 1 else { return nil }
    }

    deinit { curl_share_cleanup(handle) }
}

/// Passes texts as C strings that are valid until `body` returns.
func withCStrings<Result>(_ texts: [String?], _ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
    let bytes = texts.map { $0.map { Array($0.utf8CString) } }
    func next(_ pointers: [UnsafePointer<CChar>?]) -> Result {
        guard pointers.count < bytes.count else { return body(pointers) }
        guard let text = bytes[pointers.count] else { return next(pointers + [nil]) }
        return text.withUnsafeBufferPointer { next(pointers + [$0.baseAddress]) }
    }
    return next([])
}
