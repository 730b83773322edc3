/// The port for traces: decides which spans are recorded, and exports them. A hub without traces has none.
///
/// All methods can be called on any thread, and never wait.
package protocol Tracer: AnyObject, Sendable {
    /// Begins a span.
    /// - Parameters:
    ///   - parent: `nil` for the first span of a trace.
    ///   - nanoseconds: the time since the span began.
    func begin(_ parent: TraceContext?, ago nanoseconds: Int64) -> OpenSpan

    /// Ends a span. It is exported if it is sampled.
    /// - Parameter nanoseconds: its duration; `nil` if it ends now.
    func end(_ span: OpenSpan, _ work: SpanWork, lasted nanoseconds: Int64?)

    /// The results of the exports since the start.
    var counts: SpanCounts { get }
}

extension Tracer {
    package func begin(_ parent: TraceContext?) -> OpenSpan { begin(parent, ago: 0) }
    package func end(_ span: OpenSpan, _ work: SpanWork) { end(span, work, lasted: nil) }

    /// Begins the span of an attempt below that of the event's publisher; `nil` if it is not recorded.
    package func span(of event: Event) -> OpenSpan? {
        let span = begin(event.traceParent.flatMap(TraceContext.init))
        return span.context.isSampled ? span : nil
    }
}

/// A span that has begun. An object, because it is passed on with a publication or an attempt, which mostly have none.
package final class OpenSpan: Sendable {
    package let context: TraceContext
    /// The id of the span above it; 0 if it is the first of its trace.
    package let parent: UInt64
    /// Nanoseconds since 1970 UTC.
    package let startedAt: Int64

    package init(_ context: TraceContext, parent: UInt64, startedAt: Int64) {
        self.context = context
        self.parent = parent
        self.startedAt = startedAt
    }
}

/// The work of a span.
package enum SpanWork: Sendable {
    /// A request that publishes events. `eventID`: of the only event.
    case publish(Request, events: Int, eventID: String?, bytes: Int)
    /// A request that was refused.
    case refusal(Request)
    /// A transaction that has stored the events of a request. `events`: all events of the transaction.
    case commit(events: Int)
    case attempt(Attempt)

    package struct Request: Sendable {
        package let method: String
        /// The path as in OpenAPI; `nil` if there is none.
        package let route: String?
        package let status: Int

        package init(method: String, route: String?, status: Int) {
            self.method = method
            self.route = route
            self.status = status
        }
    }

    package struct Attempt: Sendable {
        package let delegate: WebhookDelegate
        package let eventID: String
        package let eventType: String
        /// From 1.
        package let number: Int
        package let isReplay: Bool
        package let verdict: CallbackOutcome.Verdict
        package let transport: TransportRecord

        package init(
            delegate: WebhookDelegate, eventID: String, eventType: String, number: Int, isReplay: Bool,
            verdict: CallbackOutcome.Verdict, transport: TransportRecord
        ) {
            self.delegate = delegate
            self.eventID = eventID
            self.eventType = eventType
            self.number = number
            self.isReplay = isReplay
            self.verdict = verdict
            self.transport = transport
        }
    }
}

/// Counts of spans since the start.
package struct SpanCounts: Equatable, Sendable {
    /// The collector has received them.
    package var exported = 0
    /// They were discarded: too many waited, or the collector refused them.
    package var dropped = 0
    /// They wait for their export.
    package var waiting = 0
    package init() {}
}
