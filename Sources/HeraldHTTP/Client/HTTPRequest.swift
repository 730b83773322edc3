/// A request to a server.
package struct HTTPRequest: Sendable {
    package var method: String
    /// `http` or `https`.
    package var url: String
    /// Besides those that HTTP itself requires.
    package var headers: [(name: String, value: String)]
    /// `nil` for no body.
    package var body: [UInt8]?
    /// For the whole exchange; 0 for no limit. Longer than a server of Herald takes, whose response then says more.
    package var timeoutMilliseconds = 150_000
    /// An IP address or a name to connect to, without a proxy; `nil` for the URL's host.
    package var address: String?
    /// Whether the connection begins with the header of the PROXY protocol, with the addresses of the connection itself.
    package var sendsProxyHeader = false

    package init(_ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

extension HTTPRequest {
    /// Whether it is for this machine itself, which a proxy can't reach.
    package var isToThisMachine: Bool {
        let authority = url.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first ?? ""
        let host = authority.lowercased()
        return host == "localhost" || host.hasPrefix("localhost:") || host.hasPrefix("127.") || host.hasPrefix("[::1]")
    }
}

/// A server's response.
package struct HTTPResponse: Sendable {
    package let status: Int
    /// The header lines, as received.
    let head: [UInt8]
    package let body: [UInt8]

    /// The first value of a header.
    /// - Parameter name: in lower case.
    package func header(_ name: String) -> String? {
        for line in head.split(separator: 10) {
            let parts = line.split(separator: 58, maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, String(decoding: parts[0], as: UTF8.self).lowercased() == name else { continue }
            let value = parts[1].drop { $0 == 32 || $0 == 9 }
            return String(decoding: value.last == 13 ? value.dropLast() : value, as: UTF8.self)
        }
        return nil
    }
}

/// Why there is no response.
package enum HTTPClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// libcurl could not be initialized.
    case library
    /// The URL is invalid, or its scheme is not HTTP.
    case url(String)
    /// The body of a response with this status exceeds the client's limit.
    case tooLarge(limit: Int, status: Int)
    /// No data arrived for this number of seconds.
    case silent(seconds: Int)
    /// No connection was made, with libcurl's message.
    case connection(String)
    /// The TLS handshake failed: mostly because the certificate is not valid for the host. With libcurl's message.
    case tls(String)
    /// The connection was lost, or the exchange failed otherwise, with libcurl's message.
    case failed(String)

    package var description: String {
        switch self {
        case .library: "libcurl can't be used"
        case .url(let text): text
        case .tooLarge(let limit, _):
            "the response is longer than " + (limit < 1 << 20 ? "\(limit >> 10) KiB" : "\(limit >> 20) MiB")
        case .silent(let seconds): "nothing came for \(seconds) s"
        case .connection(let text), .tls(let text), .failed(let text): text
        }
    }
}
