/// Which shards a node has, gives and takes. A value that only decides: it waits for nothing and calls nobody.
struct ShardPlan: Sendable {
    /// What to do next.
    struct Step: Equatable, Sendable {
        /// Stop delivering these, and release them when what is open has ended.
        var give: Shards = []
        /// Take these, as far as nobody has them.
        var take: Shards = []
    }

    /// How many shards are given at a time: the others go on being delivered meanwhile.
    static let mostAtOnce = 8

    private let node: NodeKey
    private var isStopping = false
    /// The shards whose lanes this node has, including those that it is giving.
    private(set) var held: Shards = []
    private(set) var giving: Shards = []

    init(node: NodeKey) { self.node = node }

    /// - Parameter nodes: those that are present. Without this node among them it takes nothing: the others do not know of
    ///   it, so it may be cut off.
    mutating func look(at nodes: [NodeKey]) -> Step {
        let wanted = isStopping ? [] : ShardAssignment.shards(among: nodes)[node, default: []]
        var step = Step(take: wanted.subtracting(held))
        if isStopping {
            step.give = held.subtracting(giving)
        } else if nodes.contains(node) {
            let room = Self.mostAtOnce - giving.rawValue.nonzeroBitCount
            step.give = held.subtracting(wanted).subtracting(giving).first(room)
        }
        giving.formUnion(step.give)
        return step
    }

    /// These were free, and their lanes are here now.
    mutating func took(_ shards: Shards) { held.formUnion(shards) }

    /// The last checkpoint of these is written, and they are released.
    mutating func gave(_ shards: Shards) {
        held.subtract(shards)
        giving.subtract(shards)
    }

    /// The session that had them is gone: others may have them already.
    /// - Returns: the shards whose lanes have to go at once, without a last checkpoint.
    mutating func lost() -> Shards {
        defer { (held, giving) = ([], []) }
        return held
    }

    /// From here on it gives all that it has, at once.
    mutating func stop() { isStopping = true }
}

extension Shards {
    /// The first of these shards, at most `count`.
    func first(_ count: Int) -> Shards {
        var rest = rawValue
        for _ in 0..<max(0, min(count, Self.count)) { rest &= rest &- 1 }
        return Shards(rawValue: rawValue & ~rest)
    }
}
