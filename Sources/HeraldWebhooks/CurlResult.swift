import CHeraldCurl
import Glibc
import HeraldModel
import HeraldRuntime

/// Translates libcurl's result of a failed transfer into a verdict.
enum CurlResult {
    static let tooLate = CallbackOutcome.Verdict.failed(
        .stopped, detail: "another node may deliver to this delegate by now")

    /// Whether an error of the system means that this machine has no descriptor or no memory.
    static func isLack(_ code: Int32) -> Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM, ENOSPC].contains(code) }

    /// This machine has no descriptor or no memory for a connection, which is no failure of the receiver.
    /// - Returns: `nil` for another error of the system.
    static func lack(_ code: Int32) -> CallbackOutcome.Verdict? {
        guard isLack(code) else { return nil }
        return .failed(.stopped, detail: "no connection can be opened: \(String(cString: strerror(code)))")
    }

    /// No address of the host has accepted a connection.
    /// - Parameter code: the last error of the system.
    static func notConnected(_ code: Int32, _ url: CallbackURL) -> CallbackOutcome.Verdict {
        let detail =
            "no address of \(url.host) accepts connections at port \(url.port): \(String(cString: strerror(code)))"
        return lack(code) ?? .failed(.connect, detail: detail)
    }

    static let notTaken = CallbackOutcome.Verdict.failed(.stopped, detail: "libcurl didn't take the request")

    static func verdict(_ code: Int32, status: Int, _ transfer: Transfer) -> CallbackOutcome.Verdict {
        if transfer.isTooLate { return tooLate }
        if let lack = transfer.lack { return lack }
        if let rule = transfer.refusal { return .failed(.addressBlocked, detail: rule) }
        if code != HERALD_CURL_OK, transfer.hasReadTooMuch {
            return .failed(.protocolError, detail: "the receiver sent too much that is no part of a response")
        }
        if transfer.hasLostConnection(code) {
            return .failed(.protocolError, detail: "the kept connection ended before a response")
        }
        if transfer.isRepeated {
            return .failed(.protocolError, detail: "HTTP/2 broke off: the receiver refused the request")
        }
        if let refusal = transfer.tlsRefusal(code) { return .failed(.tls, detail: refusal) }
        let text = message(code, transfer)
        switch code {
        case HERALD_CURL_TIMEOUT where transfer.isUnbegun && transfer.target?.multi == .http2:
            return .failed(.timeout, detail: "no connection was ready in time")
        // libcurl counts the bytes of the body only.
        case HERALD_CURL_TIMEOUT where transfer.headerCount > 0:
            let detail =
                status < 200
                ? "nothing followed the interim status \(status) in time"
                : "the headers of the response \(status) did not end in time"
            return .failed(.timeout, detail: detail)
        case HERALD_CURL_TIMEOUT: return .failed(.timeout, detail: text)
        case HERALD_CURL_CONNECT: return .failed(.connect, detail: text)
        case HERALD_CURL_PROXY, HERALD_CURL_PROXY_NAME: return .failed(.connect, detail: "proxy: \(text)")
        case HERALD_CURL_RECEIVE where transfer.isProxied && !transfer.hasRequested:
            return .failed(.connect, detail: "proxy: \(text)")
        case HERALD_CURL_RESOLVE: return .failed(.nameResolution, detail: text)
        // `tls` of a delegate does not apply to its authorization server.
        case HERALD_CURL_CERTIFICATE where isOfUnknownAuthority(text) && transfer.callback?.purpose != .token:
            let hint = "unless it leaves out intermediate certificates, tls.ca of the delegate can name its authority"
            return .failed(.tls, detail: "\(text); \(hint)")
        case HERALD_CURL_HANDSHAKE, HERALD_CURL_CERTIFICATE, HERALD_CURL_CIPHER, HERALD_CURL_CLIENT_CERTIFICATE,
            HERALD_CURL_CA_FILE, HERALD_CURL_PIN:
            return .failed(.tls, detail: text)
        case HERALD_CURL_NOTHING:
            return .failed(.protocolError, detail: "the connection was closed without a response")
        case HERALD_CURL_NOT_HTTP, HERALD_CURL_WEIRD:
            return .failed(.protocolError, detail: "the response is not HTTP/1.1: \(text)")
        case HERALD_CURL_HTTP2, HERALD_CURL_HTTP2_STREAM:
            return .failed(.protocolError, detail: "HTTP/2 broke off: \(text)")
        case HERALD_CURL_WRITE where transfer.mustNotDecode:
            return .failed(.protocolError, detail: "the interim response \(status) has several codings")
        // libcurl has no memory for more than 100 KiB of a line.
        case HERALD_CURL_WRITE where transfer.headerCount > 0, HERALD_CURL_NO_MEMORY, HERALD_CURL_TOO_LARGE:
            return .failed(.protocolError, detail: "the headers of the response did not end within 16 KiB or 128 lines")
        case HERALD_CURL_OK where status >= 200, HERALD_CURL_PARTIAL where status >= 200:
            return .failed(
                .protocolError, detail: "the connection was closed before the headers of the response \(status) ended")
        case HERALD_CURL_OK:
            return .failed(.protocolError, detail: "the response ended with the interim status \(status)")
        default: return .failed(.protocolError, detail: text)
        }
    }

    /// Whether OpenSSL found no trusted authority that has signed the certificate.
    private static func isOfUnknownAuthority(_ message: String) -> Bool {
        message.holds("local issuer certificate") || message.holds("self-signed")
    }

    /// libcurl's message about this transfer, which contains host and port, but neither path nor headers.
    private static func message(_ code: Int32, _ transfer: Transfer) -> String {
        var text = String(cString: transfer.errorText)
        // libcurl reports the first problem, and these do not end a transfer.
        let isOlder =
            text.hasPrefix("getpeername()") || code == HERALD_CURL_TIMEOUT && !text.lowercased().holds("time")
        if text.isEmpty || isOlder { text = String(cString: herald_curl_message(code)) }
        let system = Int32(truncatingIfNeeded: herald_easy_system_error(transfer.easy))
        if code == HERALD_CURL_CONNECT, system != 0 { text += " (\(String(cString: strerror(system))))" }
        return text
    }
}
