/// When the writer takes the next step of a long task. While requests come in, steps take a tenth of the writer's time, so that
/// a request seldom waits for a step, or for the copy of the write-ahead log that steps cause. A writer without requests takes
/// one step after the other.
///
/// All times are monotonic nanoseconds.
struct StepPace {
    /// Steps take one of this many parts of the writer's time.
    static let parts: Int64 = 10
    /// How long a request is followed by others, as far as is known.
    static let quiet: Int64 = 100_000_000
    /// The longest pause after a step. The disk, the database or the whole process may have stood still during the step.
    static let maxPause: Int64 = 10_000_000_000

    /// When the next step may begin.
    private(set) var next: Int64 = .min
    private var lastRequest: Int64?

    mutating func wroteRequest(at time: Int64) { lastRequest = time }

    /// - Parameter time: from the begin of the transaction to the end of what had to follow it.
    mutating func wroteStep(_ time: Range<Int64>) {
        guard let lastRequest, time.lowerBound - lastRequest < Self.quiet else { return }
        next = time.upperBound + min(Self.maxPause, (Self.parts - 1) * Int64(time.count))
    }
}
