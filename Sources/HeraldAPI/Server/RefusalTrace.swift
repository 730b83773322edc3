import HeraldCore
import HeraldHTTP
import HeraldModel
import HeraldRuntime

/// Records a span for each request that is refused, with a status of 400 or more. Exists only with a tracer.
final class RefusalTrace: Sendable {
    private let tracer: any Tracer
    private let clock: Clock

    init?(_ hub: Hub) {
        guard let tracer = hub.tracer else { return nil }
        self.tracer = tracer
        clock = hub.clock
    }

    /// Nanoseconds of the monotonic clock.
    var now: Int64 { clock.monotonic() }

    /// - Parameters:
    ///   - route: the path as in OpenAPI; `nil` if there is none.
    ///   - start: the time of `now` when the request began; `nil` for one that was refused at once.
    func record(_ head: RequestHead, _ route: String?, _ status: Int, since start: Int64? = nil) {
        let parent = head.value(of: "traceparent").flatMap(TraceContext.init)
        let span = tracer.begin(parent, ago: start.map { max(0, now - $0) } ?? 0)
        tracer.end(span, .refusal(.init(method: head.method.rawValue, route: route, status: status)))
    }
}
