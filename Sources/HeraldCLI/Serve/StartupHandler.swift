import HeraldAPI
import HeraldCrypto
import HeraldHTTP
import HeraldRuntime
import Synchronization

/// Handles requests while the service starts. The port is opened first, because the address guard must know it.
// @unchecked: `service` is written once, before `isOpen` is set, and read only after `isOpen` was seen.
final class StartupHandler: RequestHandler, @unchecked Sendable {
    private let isOpen = Atomic(false)
    private var service: HeraldService?
    private let origins: OriginRules
    private let hasRun: Bool

    /// - Parameter hasRun: whether this process has served before, and may have to wait for its database.
    init(origins: OriginRules, hasRun: Bool) {
        self.origins = origins
        self.hasRun = hasRun
    }

    /// Must be called once.
    func open(_ service: HeraldService) {
        self.service = service
        isOpen.store(true, ordering: .releasing)
    }

    private var opened: HeraldService? { isOpen.load(ordering: .acquiring) ? service : nil }

    func authorize(_ head: RequestHead, from peer: PeerAddress) -> RequestDecision {
        if let opened { return opened.authorize(head, from: peer) }
        // A supervisor that restarts what is not alive must not end a server that only waits.
        if hasRun, head.path == "/healthz" {
            let json = [Response.Field("Content-Type", "application/json")]
            return .refused(Response(status: 200, headers: json, body: Array(#"{"status":"ok"}"#.utf8)))
        }
        return .refused(isOfPage(head) ? Self.page : starting(for: head.value(of: "Origin")))
    }

    func mayWait(_ head: RequestHead) -> Bool { opened?.mayWait(head) ?? false }

    func mayUseReserve(_ head: RequestHead) -> Bool { opened?.mayUseReserve(head) ?? false }

    func failure(_ failure: RequestFailure, for origin: String?) -> Response {
        opened?.failure(failure, for: origin)
            ?? Response(status: failure.status, headers: origins.fields(for: origin))
    }

    func roundEnded() { opened?.roundEnded() }

    /// Whether a browser opens the dashboard or the reference. Some programs accept HTML, too: they get the problem of the API.
    private func isOfPage(_ head: RequestHead) -> Bool {
        guard head.method == .get, ["/", "/docs"].contains(head.path) else { return false }
        return head.list(of: "Accept")?.holds("text/html") == true
    }

    /// The response to a browser that opens a page: it loads the page again by itself, with its fragment. Any page may
    /// frame it, because the origins that an app allows are not known yet.
    private static let page: Response = {
        // Nothing follows `reload`: another one would begin it again, on a slow connection without end.
        let script =
            "const wait = () => setTimeout(read, 1000); "
            + "const read = () => fetch('', { cache: 'no-store' })"
            + ".then((response) => response.status < 500 ? location.reload() : wait(), wait); wait()"
        let digest = Base64.encode(SHA256.hash(Array(script.utf8)))
        let text = """
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>Herald is starting</title>
            <main><h1>Herald is starting</h1>
            <p role="status">This page loads by itself when the server is ready.</p></main>
            <script>\(script)</script>
            </html>

            """
        let policy = "default-src 'none'; connect-src 'self'; script-src 'sha256-\(digest)'"
        return Response(
            status: 503,
            headers: [
                .init("Retry-After", "1"), .init("Content-Type", "text/html; charset=utf-8"),
                .init("Cache-Control", "no-store"), .init("Content-Security-Policy", policy),
            ],
            body: Array(text.utf8))
    }()

    private func starting(for origin: String?) -> Response {
        Response(
            status: 503,
            headers: [.init("Retry-After", "1"), .init("Content-Type", "application/problem+json")]
                + origins.fields(for: origin),
            body: Array(
                #"{"type":"/problems/starting","title":"The service is starting","status":503,"detail":"Try again in a second."}"#
                    .utf8))
    }
}
