import HeraldModel

extension LogWriter {
    /// Counts a committed transaction, and records a span for each publication in it.
    /// - Parameter duration: nanoseconds.
    func record(_ plan: WritePlan, nanoseconds duration: Int64) {
        let events = plan.events.count
        var trace: TraceContext?
        if let tracer = context.tracer {
            for (publication, _) in plan.posted {
                guard let publishing = publication.span else { continue }
                let span = tracer.begin(publishing.context, ago: duration)
                tracer.end(span, .commit(events: events), lasted: duration)
                if span.context.isSampled { trace = span.context }
            }
        }
        counters.committed(events: events, nanoseconds: duration, trace: trace)
    }
}
