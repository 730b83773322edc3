import HeraldAPI
import HeraldHTTP
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
        return .refused(starting(for: head.value(of: "Origin")))
    }

    func mayWait(_ head: RequestHead) -> Bool { opened?.mayWait(head) ?? false }

    func mayUseReserve(_ head: RequestHead) -> Bool { opened?.mayUseReserve(head) ?? false }

    func failure(_ failure: RequestFailure, for origin: String?) -> Response {
        opened?.failure(failure, for: origin)
            ?? Response(status: failure.status, headers: origins.fields(for: origin))
    }

    func roundEnded() { opened?.roundEnded() }

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
