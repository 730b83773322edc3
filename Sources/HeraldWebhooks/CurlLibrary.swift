import CHeraldCurl
import HeraldCrypto

/// libcurl, prepared once for the process.
enum CurlLibrary {
    /// Has to happen before the process starts threads that use libcurl or OpenSSL: making the first `CurlSender` on the
    /// main thread does it. OpenSSL is prepared first, so that libcurl can't make it read a configuration file.
    static func prepare() throws(CurlSenderError) {
        guard isPrepared else { throw .library("curl_global_init failed") }
    }

    /// The content codings that it decodes, for `accept-encoding`; empty: none.
    static let contentCodings = [
        ("gzip, deflate", herald_curl_decodes_deflate()), ("br", herald_curl_decodes_brotli()),
        ("zstd", herald_curl_decodes_zstd()),
    ].filter { $0.1 == 1 }.map(\.0).joined(separator: ", ")

    /// Whether an HTTP/2 connection without TLS can carry more than one request.
    static let keepsClearHTTP2 = herald_curl_keeps_clear_http2() == 1

    private static let isPrepared: Bool = {
        guard (try? CryptoLibrary.prepare()) != nil else { return false }
        return herald_curl_global_init() == 0
    }()
}
