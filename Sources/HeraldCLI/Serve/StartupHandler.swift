import HeraldAPI
import HeraldHTTP
import Synchronization

/// Handles requests while the service starts. The port is opened first, because the address guard must know it.
// @unchecked: `service` is written once, before `isOpen` is set, and read only after `isOpen` was seen.
final class StartupHandler: RequestHandler, @unchecked Sendable {
    private let isOpen = Atomic(false)
    private var service: HeraldService?
    private let origins: OriginRules

    init(origins: OriginRules) { self.origins = origins }

    /// Must be called once.
    func open(_ service: HeraldService) {
        self.service = service
        isOpen.store(true, ordering: .releasing)
    }

    private var opened: HeraldService? { isOpen.load(ordering: .acquiring) ? service : nil }

    func authorize(_ head: RequestHead, from peer: PeerAddress) -> RequestDecision {
        opened?.authorize(head, from: peer) ?? .refused(starting(for: head.value(of: "Origin")))
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
