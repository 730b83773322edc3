/// How much work a client's document may cause: a number of steps that counts down.
///
/// Whatever a client can make expensive (a schema, a pattern, a filter, the value that is held against it) spends steps as
/// it goes, and stops when there are none left. Steps rather than time, so that the same document always ends the same way.
/// A step takes 25 ns at most on the machine of `Documentation/performance.md`.
public struct WorkBudget: Sendable {
    /// What one request may cause: under 50 ms with a margin.
    public static let stepsPerRequest = 1_000_000

    /// Zero or less when it is spent.
    public private(set) var left: Int

    public init(steps: Int = stepsPerRequest) { left = steps }

    /// For what something else bounds.
    public static let unlimited = WorkBudget(steps: .max)

    /// When it is spent, whatever was found out with it means nothing.
    public var isSpent: Bool { left <= 0 }

    /// - Returns: false when it is spent.
    @discardableResult
    public mutating func spend(_ steps: Int) -> Bool {
        left -= steps
        return left > 0
    }
}
