/// The limits of the parser.
public struct JSONLimits: Hashable, Sendable {
    /// Nested arrays and objects.
    public var depth: Int
    /// Values in total, including containers; keys do not count.
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
