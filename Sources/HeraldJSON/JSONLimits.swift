/// The limits of the parser.
package struct JSONLimits: Hashable, Sendable {
    /// Nested arrays and objects.
    package var depth: Int
    /// Values in total, including containers; keys do not count.
    package var values: Int
    /// Bytes of a key, after its escapes are resolved.
    package var keyBytes: Int

    package init(depth: Int = 64, values: Int = 10_000, keyBytes: Int = 256) {
        self.depth = depth
        self.values = values
        self.keyBytes = keyBytes
    }

    /// 64 levels, 10,000 values, keys of 256 bytes.
    package static let standard = JSONLimits()
}
