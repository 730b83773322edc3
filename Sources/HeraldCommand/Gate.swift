import HTTPServer
import HeraldServer
import Synchronization

/// Stands in front of the service while it starts: the port is taken first, since the address guard must know it.
final class Gate: RequestHandler {
    private final class Opened: Sendable {
        let service: HeraldService
        init(_ service: HeraldService) { self.service = service }
    }

    private let opened = AtomicLazyReference<Opened>()

    func open(_ service: HeraldService) { _ = opened.storeIfNil(Opened(service)) }

    func refuse(_ head: RequestHead) -> Response? {
        guard let service = opened.load()?.service else { return Self.starting }
        return service.refuse(head)
    }

    func handle(_ request: Request, _ responder: Responder) {
        guard let service = opened.load()?.service else { return responder.send(Self.starting) }
        service.handle(request, responder)
    }

    func mayWait(_ head: RequestHead) -> Bool { opened.load()?.service.mayWait(head) ?? false }

    func failure(_ failure: RequestFailure) -> Response {
        opened.load()?.service.failure(failure) ?? Response(status: failure.status)
    }

    private static let starting = Response(
        status: 503, headers: [.init("Retry-After", "1"), .init("Content-Type", "application/problem+json")],
        body: Array(
            #"{"type":"/problems/starting","title":"The service is starting","status":503,"detail":"Try again in a second."}"#
                .utf8))
}
