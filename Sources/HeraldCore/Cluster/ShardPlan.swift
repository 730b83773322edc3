import HeraldModel

/// Decides which shards a node acquires and releases. A pure value without I/O.
struct ShardPlan: Sendable {
    /// The next action.
    struct Step: Equatable, Sendable {
        /// Stop delivering these, and release them when what is open has ended.
        var give: Shards = []
        /// Acquire these, except those that another node holds.
        var take: Shards = []
    }

    /// The number of shards that are released at a time. The deliveries of the others continue.
    static let mostAtOnce = 8

    private let node: NodeKey
    /// The shards whose lanes this node has, including those that it is giving.
    private(set) var held: Shards = []
    private(set) var giving: Shards = []
    /// Lost shards that the loops may still use.
    private var leaving: Shards = []
    /// The assigned shards of this node, and the list of nodes that they were computed from.
    private var share: (nodes: [NodeKey], shards: Shards) = ([], [])

    init(node: NodeKey) { self.node = node }

    /// - Parameters:
    ///   - nodes: those that are present. Without this node among them it takes nothing: the others do not know of it, so it may
    ///     be cut off.
    ///   - isStopping: it gives everything, at once.
    mutating func step(among nodes: [NodeKey], isStopping: Bool = false) -> Step {
        if nodes != share.nodes { share = (nodes, ShardAssignment.shards(among: nodes)[node, default: []]) }
        let wanted = isStopping ? [] : share.shards
        var step = Step(take: wanted.subtracting(held).subtracting(leaving))
        if isStopping {
            step.give = held.subtracting(giving)
        } else if nodes.contains(node) {
            let room = Self.mostAtOnce - giving.number
            step.give = held.subtracting(wanted).subtracting(giving).first(room)
        }
        giving.formUnion(step.give)
        return step
    }

    /// These were free, and their lanes are here now.
    mutating func took(_ shards: Shards) { held.formUnion(shards) }

    /// The last checkpoint of these is written, and they may be released.
    mutating func gave(_ shards: Shards) {
        held.subtract(shards)
        giving.subtract(shards)
    }

    /// The session that held these has ended, and other nodes may hold them.
    mutating func lost(_ shards: Shards) {
        gave(shards)
        leaving.formUnion(shards)
    }

    /// The loops have nothing of these any more.
    mutating func left(_ shards: Shards) { leaving.subtract(shards) }
}

extension Shards {
    /// How many they are.
    package var number: Int { rawValue.nonzeroBitCount }

    /// The first of these shards, at most `count`.
    func first(_ count: Int) -> Shards {
        var rest = rawValue
        for _ in 0..<max(0, min(count, Self.count)) { rest &= rest &- 1 }
        return Shards(rawValue: rawValue & ~rest)
    }
}
