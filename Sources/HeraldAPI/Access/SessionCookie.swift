import HeraldHTTP

/// The cookie by which the dashboard says who is signed in; no script can read it.
enum SessionCookie {
    static let cookie = "herald_session"
    /// Milliseconds that a session lasts.
    static let lifetime: Int64 = 12 * 3_600_000

    /// The id that the request's cookie names.
    static func id(in head: RequestHead) -> ArraySlice<UInt8>? {
        guard let cookies = head.bytes(of: "Cookie") else { return nil }
        let name = Array((cookie + "=").utf8)
        for pair in cookies.split(separator: UInt8(ascii: ";")) {
            let pair = pair.drop { $0 == UInt8(ascii: " ") }
            if pair.starts(with: name) { return pair.dropFirst(name.count) }
        }
        return nil
    }

    /// Whether the dashboard itself asks. Browsers that send no `Sec-Fetch-Site` send no `Origin` with a GET, either.
    static func isSameOrigin(_ head: RequestHead) -> Bool {
        switch RequestSource(head) {
        case .ownPage: true
        case .otherPage, .person: false
        case .program: head.method == .get || head.method == .head
        }
    }

    /// - Parameter head: of the request; a page that came by https gets a cookie that goes no other way.
    static func setCookie(_ id: String, seconds: Int64, _ head: RequestHead) -> Response.Field {
        let isSecure = head.value(of: "Origin")?.hasPrefix("https:") ?? false
        return Response.Field(
            "Set-Cookie",
            "\(cookie)=\(id); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : ""))
    }
}
