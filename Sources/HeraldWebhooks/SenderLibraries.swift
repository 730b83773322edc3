import CHeraldCares
import CHeraldCurl

/// The libraries that send callbacks: libcurl, those that libcurl uses, and c-ares.
package enum SenderLibraries {
    /// Names and versions.
    package static var versions: [(String, String)] {
        let found = [
            ("libcurl", herald_curl_version()), ("OpenSSL", herald_curl_tls_version()),
            ("nghttp2", herald_curl_http2_version()), ("c-ares", ares_version(nil)),
        ]
        return found.compactMap { name, text in
            // libcurl writes the version of OpenSSL behind its name.
            text.map { (name, String(String(cString: $0).drop { !$0.isNumber })) }
        }
    }
}
