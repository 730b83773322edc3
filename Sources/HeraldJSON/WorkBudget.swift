/// How much work a client's document may cause: a number of steps that counts down.
///
/// Everything that a client can make expensive (a schema, a pattern, a filter, the data that is checked) spends steps,
/// and stops when none are left. Steps rather than time, so that the same document always has the same result. A step
/// takes at most 25 ns on the machine of `Documentation/performance.md`.
package struct WorkBudget: Sendable {
    /// The budget of one request: less than 50 ms with a margin.
    package static let stepsPerRequest = 1_000_000

    /// Zero or less if the budget is exhausted.
    package private(set) var left: Int

    /// How many steps pass between two questions whether to go on: less than half a millisecond.
    private static let stepsBetweenLooks = 16_384

    private let isInterrupted: (@Sendable () -> Bool)?
    /// With fewer steps left, `isInterrupted` is asked again.
    private var nextCheck = Int.min

    /// - Parameters:
    ///   - steps: how many there are.
    ///   - isInterrupted: asked now and then; when it returns `true`, no steps are left.
    package init(steps: Int = stepsPerRequest, isInterrupted: (@Sendable () -> Bool)? = nil) {
        left = steps
        self.isInterrupted = isInterrupted
        if isInterrupted != nil { nextCheck = steps - Self.stepsBetweenLooks }
    }

    /// For work that is bounded by other means.
    package static let unlimited = WorkBudget(steps: .max)

    /// If the budget is exhausted, results computed with it are meaningless.
    package var isSpent: Bool { left <= 0 }

    /// - Returns: `false` if the budget is exhausted.
    @discardableResult
    package mutating func spend(_ steps: Int) -> Bool {
        left -= steps
        if left < nextCheck { checkTime() }
        return left > 0
    }

    private mutating func checkTime() {
        nextCheck = left - Self.stepsBetweenLooks
        if isInterrupted?() == true { left = 0 }
    }
}
