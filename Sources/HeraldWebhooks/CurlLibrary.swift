import CHeraldCurl
import Glibc
import HeraldCrypto

/// libcurl, initialized once per process.
enum CurlLibrary {
    /// Initializes the library. Must run before the process starts threads that use libcurl or OpenSSL, so the first
    /// `CurlSender` is made on the main thread. OpenSSL is initialized first, so that libcurl cannot make it read a
    /// configuration file.
    static func prepare() throws(CurlSenderError) {
        guard isPrepared else { throw .library("curl_global_init failed") }
    }

    /// The file with the authorities of the system; `nil` if there is none.
    ///
    /// libcurl keeps the authorities that it has read only if all of them are in one file. With the folder that it uses by
    /// default beside the file, each connection with TLS would read them again, which takes 20 ms of the sender's thread.
    static let authorities: String? = {
        guard let path = herald_curl_ca_file(), access(path, R_OK) == 0 else { return nil }
        return String(cString: path)
    }()

    /// The content codings that libcurl decodes, for `accept-encoding`; empty if there are none.
    static let contentCodings = [
        ("gzip, deflate", herald_curl_decodes_deflate()), ("br", herald_curl_decodes_brotli()),
        ("zstd", herald_curl_decodes_zstd()),
    ].filter { $0.1 == 1 }.map(\.0).joined(separator: ", ")

    /// Whether an HTTP/2 connection without TLS can carry more than one request.
    static let keepsClearHTTP2 = herald_curl_keeps_clear_http2() == 1

    /// Whether all transfers that wait for a connection are tried when one changes.
    static let triesAllWaiting = herald_curl_tries_all_waiting() == 1

    private static let isPrepared: Bool = {
        guard (try? CryptoLibrary.prepare()) != nil else { return false }
        return herald_curl_global_init() == 0
    }()
}
