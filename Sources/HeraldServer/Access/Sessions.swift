import Crypto
import HTTPServer
import Runtime
import Synchronization

/// Who is signed in to the dashboard: random ids in a cookie that no script can read. In memory: a restart signs everyone
/// out. Any thread; the lock is held for a look-up.
final class Sessions: Sendable {
    struct Session: Sendable {
        let principal: Principal
        /// Milliseconds since 1970 UTC.
        let expiresAt: Int64
    }

    static let cookie = "herald_session"
    /// Milliseconds that a session lasts.
    static let lifetime: Int64 = 12 * 3_600_000
    /// When there are more, the one that would end first goes.
    static let limit = 10_000

    private let sessions = Mutex<[[UInt8]: Session]>([:])
    private let clock: Clock

    init(clock: Clock) { self.clock = clock }

    /// - Returns: its id, for the cookie.
    func open(_ principal: Principal) throws(CryptoError) -> (id: String, session: Session) {
        let id = Base64.encodeURLSafe(try randomBytes(32))
        let now = clock.wall()
        let end = min(now + Self.lifetime, principal.expiresAt ?? .max)
        let session = Session(principal: principal, expiresAt: end)
        sessions.withLock { sessions in
            if sessions.count >= Self.limit {
                sessions = sessions.filter { $0.value.expiresAt > now }
                if sessions.count >= Self.limit,
                    let first = sessions.min(by: { $0.value.expiresAt < $1.value.expiresAt })
                {
                    sessions[first.key] = nil
                }
            }
            sessions[Array(id.utf8)] = session
        }
        return (id, session)
    }

    func find(_ id: ArraySlice<UInt8>) -> Session? {
        guard let session = sessions.withLock({ $0[Array(id)] }), clock.wall() < session.expiresAt else { return nil }
        return session
    }

    func close(_ id: ArraySlice<UInt8>) { sessions.withLock { $0[Array(id)] = nil } }

    // MARK: Heads

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

    /// Whether the dashboard itself asks, and not a page from elsewhere, be it from another port of this machine. Browsers
    /// say so by `Sec-Fetch-Site`, or, where the address is not one that they trust, by `Origin` for whatever is no GET.
    static func isSameOrigin(_ head: RequestHead) -> Bool {
        if let site = head.bytes(of: "Sec-Fetch-Site") { return site.elementsEqual("same-origin".utf8) }
        guard let origin = head.value(of: "Origin") else { return head.method == .get || head.method == .head }
        guard let host = head.value(of: "Host") else { return false }
        return ["http://", "https://"].contains { origin.lowercased() == $0 + host.lowercased() }
    }

    /// - Parameter head: of the request; a page that came by https gets a cookie that goes no other way.
    static func setCookie(_ id: String, seconds: Int64, _ head: RequestHead) -> Response.Field {
        let isSecure = head.value(of: "Origin")?.hasPrefix("https:") ?? false
        return Response.Field(
            "Set-Cookie",
            "\(cookie)=\(id); Path=/; Max-Age=\(seconds); HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : ""))
    }
}
