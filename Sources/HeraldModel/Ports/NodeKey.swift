/// The number by which a node is known while it runs. Random, so that a node that starts again is another one.
package struct NodeKey: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    /// Positive also as a number with a sign.
    package static func random() -> NodeKey { NodeKey(rawValue: .random(in: 1...UInt32(Int32.max))) }
    package static func < (one: NodeKey, other: NodeKey) -> Bool { one.rawValue < other.rawValue }
}
