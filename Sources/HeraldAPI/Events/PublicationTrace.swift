import HeraldCore
import HeraldHTTP
import HeraldModel
import HeraldRuntime

/// The span of a request that publishes events.
struct PublicationTrace: Sendable {
    private let tracer: any Tracer
    let span: OpenSpan

    /// Begins it below the span that the header `traceparent` names.
    /// - Returns: `nil` without a tracer.
    init?(_ tracer: (any Tracer)?, _ head: RequestHead) {
        guard let tracer else { return nil }
        self.init(tracer, tracer.begin(head.value(of: "traceparent").flatMap(TraceContext.init)))
    }

    private init(_ tracer: any Tracer, _ span: OpenSpan) {
        self.tracer = tracer
        self.span = span
    }

    /// The attribute of an event that brings no trace of its own.
    var attribute: KeyValue { KeyValue(TraceParent.name, span.context.text) }

    /// A request without the header is below the trace that its first event brings.
    func below(_ event: Event?, _ head: RequestHead) -> PublicationTrace {
        guard !head.has("traceparent"), let text = event?.traceParent, text != span.context.text,
            let parent = TraceContext(text)
        else { return self }
        return PublicationTrace(tracer, tracer.begin(parent))
    }

    /// - Parameter status: of the response.
    func end(_ status: Int, _ drafts: [EventDraft], _ call: Call) {
        tracer.end(
            span,
            .publish(
                .init(method: call.request.head.method.rawValue, route: call.template, status: status),
                events: drafts.count, eventID: drafts.count == 1 ? drafts[0].event.id : nil,
                bytes: call.request.body.count))
    }
}

extension EventInput.Context {
    /// The events of a request, with the trace that its headers name, or else with its own span.
    init(_ call: Call, _ hub: Hub, _ trace: PublicationTrace?) {
        let head = call.request.head
        let parent = head.value(of: "traceparent")
        var attributes = TraceParent.attributes(
            parent, state: parent == nil ? nil : head.list(of: "tracestate"))
        if attributes.isEmpty, let trace { attributes = [trace.attribute] }
        self.init(app: call.app, now: hub.clock.wall(), ids: hub.ids, attributes: attributes)
    }
}
