/// How long the writer collects events before it commits them, while other processes publish too. A transaction costs the
/// database the same for one event and for many: processes that share a store make about as many together as one would alone.
///
/// All times are monotonic nanoseconds.
struct CommitPace {
    /// The longest pause.
    static let maxPause: Int64 = 5_000_000
    /// A pause is at most this many times as long as the last commit.
    static let maxShare: Int64 = 3

    /// The events of others since the last commit of events.
    private var others: Int64 = 0
    private var end: Int64 = .min

    /// Events of other processes were read.
    mutating func followed(_ count: Int) { others += Int64(count) }

    /// Events of this process were committed.
    /// - Parameter time: from the begin to the end of the transaction.
    mutating func committed(_ count: Int, _ time: Range<Int64>) {
        guard count > 0 else { return }
        let share = min(Self.maxShare * Int64(count), others)
        end = time.upperBound + min(Self.maxPause, Int64(time.count) * share / Int64(count))
        others = 0
    }

    /// How long to wait before the next transaction; not positive if it may begin.
    func pause(at now: Int64) -> Int64 { end == .min ? 0 : end - now }
}
