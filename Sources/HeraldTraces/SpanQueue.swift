import HeraldModel
import HeraldRuntime
import Synchronization

/// A span that waits for its export.
struct EndedSpan: Sendable {
    let span: OpenSpan
    /// Nanoseconds since 1970 UTC.
    let endedAt: Int64
    let work: SpanWork
}

/// The spans that wait for their export: any thread adds, one thread takes.
///
/// The lock guards the state for a few instructions.
final class SpanQueue: Sendable {
    private struct State {
        var spans = FIFO<EndedSpan>()
        var counts = SpanCounts()
        /// The spans that found the queue full, since the last call of `takeOverflow`.
        var overflow = 0
        var isEnding = false
    }

    private let state = Mutex(State())
    private let wakeup: Wakeup
    private let limit: Int
    private let batch: Int

    init(limit: Int, batch: Int) throws(SystemError) {
        wakeup = try Wakeup()
        self.limit = limit
        self.batch = batch
    }

    var counts: SpanCounts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting += state.spans.count
            return counts
        }
    }

    var isEnding: Bool { state.withLock { $0.isEnding } }

    /// The number of spans that found the queue full since the last call.
    func takeOverflow() -> Int {
        state.withLock { state in
            defer { state.overflow = 0 }
            return state.overflow
        }
    }

    func add(_ span: EndedSpan) {
        // Refused requests need no key: they leave half of the queue to the others.
        let limit = if case .refusal = span.work { self.limit / 2 } else { self.limit }
        let mustWake = state.withLock { state in
            guard state.spans.count < limit else {
                state.counts.dropped += 1
                state.overflow += 1
                return false
            }
            state.spans.append(span)
            return state.spans.count == 1 || state.spans.count == batch
        }
        if mustWake { wakeup.signal() }
    }

    /// Ends the waits of `take` and `pause`.
    func end() {
        state.withLock { $0.isEnding = true }
        wakeup.signal()
    }

    /// Waits for a full batch, or for the time after the first span. The export's thread.
    /// - Returns: `nil` after the end, when no span waits.
    func take(within milliseconds: Int32) -> [EndedSpan]? {
        var deadline: Int64?
        while true {
            let (waiting, isEnding) = state.withLock { ($0.spans.count, $0.isEnding) }
            let now = Clock.system.monotonic()
            if waiting >= batch || isEnding || deadline.map({ $0 <= now }) ?? false { break }
            if waiting > 0, deadline == nil { deadline = now + Int64(milliseconds) * 1_000_000 }
            wakeup.wait(milliseconds: deadline.map { Int32(clamping: max(0, $0 - now) / 1_000_000 + 1) } ?? -1)
        }
        let spans = state.withLock { state in
            var taken: [EndedSpan] = []
            while taken.count < batch, let span = state.spans.popFirst() { taken.append(span) }
            state.counts.waiting = taken.count
            return taken
        }
        return spans.isEmpty ? nil : spans
    }

    /// Waits, at most until the end. The export's thread.
    func pause(milliseconds: Int32) {
        let deadline = Clock.system.monotonic() + Int64(milliseconds) * 1_000_000
        while !isEnding {
            let rest = deadline - Clock.system.monotonic()
            if rest <= 0 { return }
            wakeup.wait(milliseconds: Int32(clamping: rest / 1_000_000 + 1))
        }
    }

    /// Called when the spans that were taken have been exported or dropped.
    func ended(exported: Int, dropped: Int) {
        state.withLock { state in
            state.counts.waiting = 0
            state.counts.exported += exported
            state.counts.dropped += dropped
        }
    }
}
