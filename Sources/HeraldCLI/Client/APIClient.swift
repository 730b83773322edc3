import HeraldHTTP
import HeraldJSON
import HeraldModel
import HeraldRuntime

/// A client of Herald's API, one request at a time. Used by one thread.
final class APIClient {
    /// A successful response.
    struct Answer {
        let status: Int
        let body: [UInt8]
        /// `null` if there is no body.
        let json: JSONValue
    }

    /// Without a trailing slash.
    let server: String
    /// The current command, for error messages.
    private(set) var command: Command?
    /// The app to act on, if it is not the key's own.
    var app: String? { credentials.first { $0.name == "Herald-App" }?.value }
    var hasKey: Bool { credentials.contains { $0.name == "Authorization" } }
    /// The server speaks the scheme of its URL.
    private var hasResponded = false
    private let client: HTTPClient
    private let credentials: [(name: String, value: String)]

    static let defaultServer = "http://127.0.0.1:8080"
    /// Enough for a page of 200 large events.
    private static let limits = JSONLimits(depth: 80, values: 20_000_000, keyBytes: 65_536)

    /// The server of the flags, the environment, the profile, or the default.
    /// - Parameter app: the app to act on; `nil` for that of the flags or the environment.
    convenience init(_ invocation: Invocation, app: String? = nil) throws(CommandError) {
        let environment = Environment.current
        let profile = try Profile.chosen(invocation)
        try self.init(
            server: profile?.server ?? Self.namedServer(invocation) ?? Self.defaultServer,
            key: try Self.key(invocation["key-file"], environment) ?? profile?.key,
            app: app ?? invocation["app"] ?? environment["HERALD_APP"], tls: try ClientTLS(invocation))
        command = invocation.command
    }

    static func namedServer(_ invocation: Invocation) -> String? {
        invocation["server"] ?? Environment.current["HERALD_SERVER"]
    }

    /// A flag wins. In the environment the key itself wins, because a file may be outdated.
    static func key(_ file: String?, _ environment: [String: String]) throws(CommandError) -> String? {
        if let file { return try KeyFile.read(file) }
        if let key = environment["HERALD_KEY"] {
            guard KeyFile.isKey(key) else {
                throw CommandError("HERALD_KEY is not an access key: 20 to 255 visible ASCII characters.")
            }
            return key
        }
        return try environment["HERALD_KEY_FILE"].map(KeyFile.read)
    }

    init(server: String, key: String? = nil, app: String? = nil, tls: ClientTLS) throws(CommandError) {
        let url = server.holds("://") ? server : "http://" + server
        guard url.hasPrefix("http://") || url.hasPrefix("https://"),
            !server.isEmpty, !url.contains(where: { $0.isWhitespace || $0 == "?" || $0 == "#" })
        else {
            throw CommandError("The server is \"\(server)\", but must be a URL such as \(Self.defaultServer).")
        }
        credentials =
            (key.map { [("Authorization", "Bearer " + $0)] } ?? []) + (app.map { [("Herald-App", $0)] } ?? [])
        self.server = String(url.reversed().drop { $0 == "/" }.reversed())
        do throws(HTTPClientError) {
            var configuration = HTTPClient.Configuration(
                userAgent: "herald-cli/\(heraldVersion)", certificateAuthorities: tls.authorities)
            configuration.clientCertificate = tls.certificate
            configuration.clientKey = tls.key
            client = try HTTPClient(configuration)
        } catch {
            throw CommandError("\(error).", exitCode: ExitCode.software)
        }
    }

    /// Sends a request, and throws if the response is not a success.
    /// - Parameter path: unencoded segments.
    func send(
        _ method: String, _ path: [String], query: [(String, String?)] = [], body: [UInt8]? = nil,
        headers: [(name: String, value: String)] = []
    ) throws(CommandError) -> Answer {
        let answer = try ask(method, path, query: query, body: body, headers: headers)
        guard (200..<300).contains(answer.status) else { throw Problem(answer, to: self).error }
        let isEmpty = answer.status == 204 && answer.body.isEmpty
        return Answer(
            status: answer.status, body: answer.body,
            json: try document(isEmpty ? Array("null".utf8) : answer.body).root)
    }

    /// Sends a request and returns any response.
    /// - Parameter seconds: the timeout; `nil` for the default.
    func ask(
        _ method: String, _ path: [String], query: [(String, String?)] = [], body: [UInt8]? = nil,
        headers: [(name: String, value: String)] = [], seconds: Int? = nil
    ) throws(CommandError) -> HTTPResponse {
        var request = self.request(method, path, query: query, body: body, headers: headers)
        if let seconds { request.timeoutMilliseconds = 1000 * seconds }
        do throws(HTTPClientError) {
            return try perform(request)
        } catch {
            throw unreachable(error)
        }
    }

    func request(
        _ method: String, _ path: [String], query: [(String, String?)] = [], body: [UInt8]? = nil,
        accept: String = "application/json", headers: [(name: String, value: String)] = []
    ) -> HTTPRequest {
        var request = HTTPRequest(
            method, url(path, query), headers: [("Accept", accept)] + credentials + headers)
        request.body = body ?? (method == "POST" ? [] : nil)
        if body != nil { request.headers.append(("Content-Type", "application/json")) }
        return request
    }

    func perform(_ request: HTTPRequest) throws(HTTPClientError) -> HTTPResponse {
        let response = try client.send(request)
        hasResponded = true
        return response
    }

    /// Reads a stream of Server-Sent Events.
    /// - Parameters:
    ///   - shouldContinue: called about once a second; `false` ends the stream.
    ///   - take: receives the bytes as they arrive.
    /// - Returns: the response, when the stream has ended or a closure ended it, or if it is a refusal.
    func stream(
        _ path: [String], query: [(String, String?)], shouldContinue: () -> Bool, take: (UnsafeRawBufferPointer) -> Bool
    ) throws(HTTPClientError) -> HTTPResponse {
        // The server sends a heartbeat every 15 seconds.
        try client.stream(
            // With only the first type, the server would close the connection in place of a 503.
            request("GET", path, query: query, accept: "text/event-stream, application/problem+json"),
            silenceSeconds: 45, shouldContinue: shouldContinue,
            take: { bytes in
                hasResponded = true
                return take(bytes)
            })
    }

    /// The elements of a list, newest first, page by page.
    /// - Parameter limit: the maximum number; `nil` for all.
    /// - Returns: whether there may be more.
    @discardableResult
    func pages(
        _ path: [String], query: [(String, String?)], limit: Int?,
        _ each: ([JSONValue]) throws(CommandError) -> Void
    ) throws(CommandError) -> Bool {
        var left = limit ?? .max
        var cursor: String?
        repeat {
            let page = try send(
                "GET", path, query: query + [("limit", "\(min(left, 200))"), ("cursor", cursor)]
            ).json
            guard let data = page["data"], data.kind == .array else { throw notHerald("its response is not a list") }
            let elements = Array(data.elements).prefix(left)
            try each(Array(elements))
            left -= elements.count
            // A page may be empty before the end of the search.
            let next = page["next_cursor"]?.string
            cursor = next == cursor ? nil : next
        } while cursor != nil && left > 0
        return cursor != nil
    }

    func document(_ bytes: [UInt8]) throws(CommandError) -> JSONDocument {
        do throws(JSONError) {
            return try JSONDocument(parsing: bytes, limits: Self.limits)
        } catch {
            throw notHerald("its response is not JSON (\(error))")
        }
    }

    func notHerald(_ reason: String) -> CommandError {
        CommandError("\(server) is not a Herald server: \(reason).", exitCode: ExitCode.unavailable)
    }

    func unreachable(_ error: HTTPClientError) -> CommandError {
        if case .url(let text) = error {
            return CommandError("The server is \"\(server)\", which cannot be reached: \(text).")
        }
        return CommandError("\(server) was not reached: \(error).\(hint(error))", exitCode: ExitCode.unavailable)
    }

    private func hint(_ error: HTTPClientError) -> String {
        // A server that expects TLS ends the connection, or responds with bytes that are no HTTP.
        if case .failed = error, !hasResponded, server.hasPrefix("http://") {
            return " If it serves https, name it as https\(server.dropFirst("http".utf8.count))."
        }
        // A server without TLS responds to the handshake in plain text.
        if case .tls(let text) = error, text.holds("wrong version number") {
            return " If it serves plain HTTP, name it as http\(server.dropFirst("https".utf8.count))."
        }
        return server == Self.defaultServer ? " `herald serve` starts a server; --server names another." : ""
    }

    func url(_ path: [String], _ query: [(String, String?)]) -> String {
        let pairs = query.compactMap { name, value in value.map { "\(name)=\(URLPart.encoded($0))" } }
        return server + path.map { "/" + URLPart.encoded($0) }.joined()
            + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&"))
    }
}
