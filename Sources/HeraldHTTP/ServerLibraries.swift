import CHeraldGnuTLS
import CHeraldMicrohttpd

/// The libraries that serve HTTP.
package enum ServerLibraries {
    /// Names and versions.
    package static var versions: [(String, String)] {
        let tls = gnutls_check_version(nil).map { String(cString: $0) } ?? "unknown"
        return [("libmicrohttpd", String(cString: MHD_get_version())), ("GnuTLS", tls)]
    }
}
