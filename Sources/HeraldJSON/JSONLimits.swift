/// What the parser accepts at most.
public struct JSONLimits: Hashable, Sendable {
    /// Arrays and objects inside each other.
    public var depth: Int
    /// Values in all, containers included; keys are not counted.
    public var values: Int
    /// Bytes of a key, after its escapes are resolved.
    public var keyBytes: Int

    public init(depth: Int = 64, values: Int = 10_000, keyBytes: Int = 256) {
        self.depth = depth
        self.values = values
        self.keyBytes = keyBytes
    }

    /// 64 levels, 10,000 values, keys of 256 bytes.
    public static let standard = JSONLimits()
}
