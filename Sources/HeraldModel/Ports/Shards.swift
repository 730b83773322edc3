/// A set of shards. A shard is a part of the delegates, by their keys: the unit in which deliveries are recovered, and in which
/// delivery loops share them. Each delegate is in one shard, for good.
package struct Shards: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The number of shards. Stores depend on it: it can't be changed.
    package static let count = 64
    package static let all = Shards(rawValue: .max)
    /// The shard whose owner does what one of all processes has to do.
    package static let housekeeper = Shards(rawValue: 1)

    /// The shard of a delegate.
    package init(of key: DelegateKey) { self.init(rawValue: 1 << UInt64(Shards.number(of: key))) }

    package static func number(of key: DelegateKey) -> Int { Int(UInt64(bitPattern: key) % UInt64(count)) }

    package func contains(_ key: DelegateKey) -> Bool { contains(Shards(of: key)) }

    /// Their numbers, from 0.
    package var numbers: [Int64] { (0..<Int64(Shards.count)).filter { contains($0) } }
}

extension Shards {
    /// The shards of one of the delivery loops.
    package init(ofLoop loop: Int, among loops: Int) {
        self.init(stride(from: loop, to: Shards.count, by: loops).map { Shards(rawValue: 1 << UInt64($0)) })
    }

    /// The delivery loop that has a delegate's shard.
    package static func loop(of key: DelegateKey, among loops: Int) -> Int { number(of: key) % loops }
}

/// For each shard the position up to which all its lanes are settled, except those with a row of their own.
package struct SettledPositions: Equatable, Sendable {
    private var positions: [LogPosition]

    /// Sets one position for all shards.
    package init(_ position: LogPosition) { positions = Array(repeating: position, count: Shards.count) }

    /// The position of a delegate's shard.
    package subscript(_ key: DelegateKey) -> LogPosition { positions[Shards.number(of: key)] }

    package mutating func set(_ shards: Shards, to position: LogPosition) {
        for number in positions.indices where shards.contains(Shards(rawValue: 1 << UInt64(number))) {
            positions[number] = position
        }
    }

    /// The earliest position of these shards; 0 for none.
    package func earliest(of shards: Shards = .all) -> LogPosition {
        positions.indices.lazy.filter { shards.contains(Shards(rawValue: 1 << UInt64($0))) }.map { positions[$0] }.min()
            ?? 0
    }
}
