import HeraldHTTP

/// The dashboard's session cookie; scripts can't read it.
enum SessionCookie {
    static let cookie = "herald_session"
    /// Milliseconds that a session lasts.
    static let lifetime: Int64 = 12 * 3_600_000

    /// The maximum number of session ids that a request is searched for.
    private static let maxIDs = 8

    /// The session ids in the request's cookies. A browser sends several if another server on the same host, or an earlier
    /// path, has set one.
    static func ids(in head: RequestHead) -> [ArraySlice<UInt8>] {
        guard let cookies = head.bytes(of: "Cookie") else { return [] }
        let name = Array((cookie + "=").utf8)
        let ids = cookies.split(separator: UInt8(ascii: ";")).lazy
            .map { pair in pair.drop { $0 == UInt8(ascii: " ") } }
            .filter { $0.starts(with: name) }
            .map { $0.dropFirst(name.count) }
        return Array(ids.prefix(maxIDs))
    }

    /// Whether the request comes from the dashboard. Browsers without `Sec-Fetch-Site` send no `Origin` with a GET,
    /// either.
    static func isSameOrigin(_ head: RequestHead) -> Bool {
        switch RequestSource(head) {
        case .ownPage: true
        case .otherPage, .person: false
        case .program: head.method == .get || head.method == .head
        }
    }

    /// - Parameters:
    ///   - isFramed: the cookie is also sent in a frame of a page of another site, and is separate for each such site
    ///     (`Partitioned`). Browsers accept that over https only. `isSameOrigin` still decides whether a request may use it.
    ///   - head: the header section of the request. Behind a proxy, its origin says whether the browser uses https.
    ///   - url: the cookie is valid below its path. Over https the cookie is marked `Secure`.
    ///   - isTLS: whether the server itself uses https.
    static func setCookie(
        _ id: String, seconds: Int64, isFramed: Bool, _ head: RequestHead, for url: PublicURL, isTLS: Bool
    ) -> Response.Field {
        let isSecure = (url.isHTTPS ?? isTLS) || head.value(of: "Origin")?.hasPrefix("https:") == true
        let path = url.path.isEmpty ? "/" : url.path
        return Response.Field(
            "Set-Cookie",
            "\(cookie)=\(id); Path=\(path); Max-Age=\(seconds); HttpOnly; "
                + (isSecure
                    ? isFramed ? "SameSite=None; Partitioned; Secure" : "SameSite=Strict; Secure" : "SameSite=Strict"))
    }
}
