import CHeraldCurl
import Glibc

/// An HTTP client that sends one request at a time, and keeps the connection for the next. Used by one thread.
///
/// It does not follow redirects. It uses the proxy of the environment (`http_proxy`, …), except for this machine
/// itself. It makes the process ignore SIGPIPE.
package final class HTTPClient {
    package struct Configuration: Sendable {
        /// The header `User-Agent`.
        package var userAgent: String
        /// A PEM file of CA certificates to trust; `nil` for the system's.
        package var certificateAuthorities: String?
        /// PEM files of a client certificate, with its chain, and its private key; `nil` for none.
        package var clientCertificate: String?
        package var clientKey: String?
        /// Accepts any certificate: only if nothing secret is transmitted.
        package var isUnverified = false
        /// The limit of a response's body.
        package var maxBodyBytes = 64 << 20

        package init(userAgent: String, certificateAuthorities: String? = nil) {
            self.userAgent = userAgent
            self.certificateAuthorities = certificateAuthorities
        }
    }

    private static let isLibraryReady = herald_client_init() == 1

    /// A libcurl multi handle, which keeps the connection.
    private let connections: UnsafeMutableRawPointer
    private let configuration: Configuration

    package init(_ configuration: Configuration) throws(HTTPClientError) {
        guard Self.isLibraryReady, let connections = curl_multi_init() else { throw .library }
        // OpenSSL writes without MSG_NOSIGNAL.
        signal(SIGPIPE, SIG_IGN)
        self.connections = connections
        self.configuration = configuration
    }

    deinit { curl_multi_cleanup(connections) }

    /// Sends a request and waits for the response, with any status.
    package func send(_ request: HTTPRequest) throws(HTTPClientError) -> HTTPResponse {
        try send(request, Exchange(maxBodyBytes: configuration.maxBodyBytes))
    }

    func send(_ request: HTTPRequest, _ exchange: Exchange) throws(HTTPClientError) -> HTTPResponse {
        // Its copies live until the list is freed.
        var list: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(list) }
        for (name, value) in request.headers {
            // libcurl requires a semicolon for a header with an empty value.
            list = curl_slist_append(list, value.isEmpty ? "\(name);" : "\(name): \(value)") ?? list
        }
        // Of any host and port, to the port of the URL.
        let entry = request.address.map { "::\($0.contains(":") ? "[\($0)]" : $0):" }
        let connectTo = entry.flatMap { curl_slist_append(nil, $0) }
        defer { curl_slist_free_all(connectTo) }
        if entry != nil, connectTo == nil { throw .library }
        let result = perform(request, list, connectTo, exchange)
        if let error = exchange.error { throw error }
        guard result.code == HERALD_CLIENT_OK || exchange.isEnded else {
            let text = result.text.isEmpty ? String(cString: herald_client_message(result.code)) : result.text
            // libcurl has one code for a scheme that it does not support, and for a response that is not HTTP.
            let isScheme = result.code == HERALD_CLIENT_NOT_HTTP && !request.url.hasPrefix("http")
            let isURL = isScheme || result.code == HERALD_CLIENT_BAD_URL
            if herald_client_is_connection(result.code) != 0 { throw .connection(text) }
            if herald_client_is_tls(result.code) != 0 { throw .tls(text) }
            throw isURL ? .url(text) : .failed(text)
        }
        return HTTPResponse(status: exchange.status, head: exchange.head, body: exchange.body)
    }

    /// All pointers live until the transfer has ended.
    private func perform(
        _ request: HTTPRequest, _ headers: UnsafeMutablePointer<curl_slist>?,
        _ connectTo: UnsafeMutablePointer<curl_slist>?, _ exchange: Exchange
    ) -> (code: Int32, text: String) {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(HERALD_CLIENT_ERROR_SIZE)) { errorText in
            errorText.initialize(repeating: 0)
            var settings = herald_client_request()
            settings.headers = headers
            settings.connect_to = connectTo
            settings.proxy_header = request.sendsProxyHeader ? 1 : 0
            settings.direct = request.isToThisMachine || connectTo != nil ? 1 : 0
            settings.unverified = configuration.isUnverified ? 1 : 0
            settings.timeout = request.timeoutMilliseconds
            settings.error_text = errorText.baseAddress
            settings.owner = Unmanaged.passUnretained(exchange).toOpaque()
            settings.receive = receiveBody
            settings.header = receiveHeader
            if exchange.isStream { settings.progress = askWhetherToGoOn }
            let files: [UnsafeMutablePointer<CChar>?] = [
                configuration.certificateAuthorities, configuration.clientCertificate, configuration.clientKey,
            ].map { $0.flatMap { strdup($0) } }
            defer { for file in files { free(file) } }
            settings.ca_file = UnsafePointer(files[0])
            settings.certificate = UnsafePointer(files[1])
            settings.key = UnsafePointer(files[2])
            let code = request.method.withCString { method in
                settings.method = method
                return request.url.withCString { url in
                    settings.url = url
                    return configuration.userAgent.withCString { agent in
                        settings.user_agent = agent
                        return (request.body ?? []).withUnsafeBytes { body in
                            // An empty array may have no address, but an empty body is a body.
                            settings.body = request.body == nil ? nil : body.baseAddress ?? UnsafeRawPointer(agent)
                            settings.body_count = body.count
                            return withExtendedLifetime(exchange) { herald_client_perform(connections, &settings) }
                        }
                    }
                }
            }
            let bytes = errorText.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            return (code, String(decoding: bytes, as: UTF8.self))
        }
    }
}
