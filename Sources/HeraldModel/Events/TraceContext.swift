/// A span of a trace, as the header `traceparent` names it.
package struct TraceContext: Equatable, Sendable {
    /// The 16 bytes of the trace id.
    package let trace: (high: UInt64, low: UInt64)
    /// The 8 bytes of the span id.
    package let span: UInt64
    /// The trace is recorded.
    package let isSampled: Bool

    package init(trace: (high: UInt64, low: UInt64), span: UInt64, isSampled: Bool) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
    }

    /// - Returns: `nil` if the text is no valid `traceparent`.
    package init?(_ text: String) {
        guard TraceParent.isValid(text) else { return nil }
        let text = Substring(text).utf8
        func number(_ first: Int, _ count: Int) -> UInt64? {
            UInt64(Substring(text.dropFirst(first).prefix(count)), radix: 16)
        }
        guard let high = number(3, 16), let low = number(19, 16), let span = number(36, 16), let flags = number(53, 2)
        else { return nil }
        self.init(trace: (high, low), span: span, isSampled: flags & 1 == 1)
    }

    /// The value of the header.
    package var text: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }
    /// In hexadecimal digits.
    package var traceID: String { Self.digits(trace.high) + Self.digits(trace.low) }
    /// In hexadecimal digits.
    package var spanID: String { Self.digits(span) }

    private static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }

    package static func == (one: TraceContext, other: TraceContext) -> Bool {
        one.trace == other.trace && one.span == other.span && one.isSampled == other.isSampled
    }
}
