import HeraldModel

/// Decides which traces are recorded, as the variable `OTEL_TRACES_SAMPLER` says it.
package struct Sampler: Equatable, Sendable {
    /// The part of the traces that are recorded, from 0 to 1.
    private let ratio: Double
    /// A span is recorded if the one above it is.
    private let followsParent: Bool

    package static let names = [
        "always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off",
        "parentbased_traceidratio",
    ]

    /// - Parameters:
    ///   - name: one of `names`; otherwise the result is `nil`.
    ///   - ratio: of the samplers with a ratio.
    package init?(_ name: String, ratio: Double) {
        guard Self.names.contains(name) else { return nil }
        followsParent = name.hasPrefix("parentbased_")
        self.ratio = name.hasSuffix("always_on") ? 1 : name.hasSuffix("always_off") ? 0 : min(max(ratio, 0), 1)
    }

    /// - Parameter low: the last 8 bytes of the trace id; other programs decide by them in the same way.
    func samples(_ parent: TraceContext?, trace low: UInt64) -> Bool {
        if followsParent, let parent { return parent.isSampled }
        return ratio >= 1 || Double(low >> 1) < ratio * 0x1p63
    }
}
