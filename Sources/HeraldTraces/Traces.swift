package import HeraldModel
import HeraldRuntime
import Synchronization

/// Exports spans to a collector by the OpenTelemetry protocol, over HTTP in the binary encoding.
///
/// A thread of its own sends. The threads that end spans only add them to a queue. When the collector fails, the spans wait, and
/// further ones are dropped once the queue is full.
package final class Traces: Tracer {
    /// A change that operators should be informed of. On the export's thread.
    package enum Change: Equatable, Sendable {
        /// The collector does not take the spans; they are sent again.
        case failing(reason: String)
        /// The collector has refused spans: they are dropped. Reported once a minute at most. `spans`: since the last report.
        case refused(spans: Int, reason: String)
        /// It takes spans again. `dropped`: in the meantime.
        case working(dropped: Int)
        /// More spans end than the collector takes. `dropped`: since the last report.
        case tooMany(dropped: Int)
    }

    private let configuration: TraceConfiguration
    private let queue: SpanQueue
    private let random = Mutex(RandomBlock())
    private let hasEnded = Semaphore()

    package init(_ configuration: TraceConfiguration, report: @escaping @Sendable (Change) -> Void) throws {
        self.configuration = configuration
        queue = try SpanQueue(limit: configuration.maxWaiting, batch: configuration.batch)
        let export = SpanExport(configuration, queue, report)
        let thread = try Thread(name: "traces", priority: .low) { [hasEnded] in
            export.run()
            hasEnded.signal()
        }
        thread.detach()
    }

    package func begin(_ parent: TraceContext?, ago nanoseconds: Int64) -> OpenSpan {
        let (high, low, id) = random.withLock { random in
            let id = random.next(upperBound: UInt64.max) + 1
            if let parent { return (parent.trace.high, parent.trace.low, id) }
            return (random.next(), random.next(upperBound: UInt64.max) + 1, id)
        }
        let isSampled = configuration.sampler.samples(parent, trace: low)
        return OpenSpan(
            TraceContext(trace: (high, low), span: id, isSampled: isSampled), parent: parent?.span ?? 0,
            startedAt: Clock.wallNanoseconds() - nanoseconds)
    }

    package func end(_ span: OpenSpan, _ work: SpanWork, lasted nanoseconds: Int64?) {
        guard span.context.isSampled else { return }
        let endedAt = nanoseconds.map { span.startedAt + $0 } ?? Clock.wallNanoseconds()
        queue.add(EndedSpan(span: span, endedAt: endedAt, work: work))
    }

    package var counts: SpanCounts { queue.counts }

    /// Exports the spans that wait, and ends the thread. Waits for it for a few seconds.
    package func stop() {
        queue.end()
        _ = hasEnded.wait(milliseconds: configuration.stopMilliseconds)
    }
}
