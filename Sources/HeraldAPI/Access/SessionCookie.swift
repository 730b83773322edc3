import HeraldHTTP

/// The dashboard's session cookie; scripts can't read it.
enum SessionCookie {
    static let cookie = "herald_session"
    /// Milliseconds that a session lasts.
    static let lifetime: Int64 = 12 * 3_600_000

    /// The session id in the request's cookie.
    static func id(in head: RequestHead) -> ArraySlice<UInt8>? {
        guard let cookies = head.bytes(of: "Cookie") else { return nil }
        let name = Array((cookie + "=").utf8)
        for pair in cookies.split(separator: UInt8(ascii: ";")) {
            let pair = pair.drop { $0 == UInt8(ascii: " ") }
            if pair.starts(with: name) { return pair.dropFirst(name.count) }
        }
        return nil
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

    /// - Parameter head: the header section of the request; over https the cookie is marked `Secure`.
    static func setCookie(_ id: String, seconds: Int64, _ head: RequestHead) -> Response.Field {
        let isSecure = head.value(of: "Origin")?.hasPrefix("https:") ?? false
        return Response.Field(
            "Set-Cookie",
            "\(cookie)=\(id); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : ""))
    }
}
