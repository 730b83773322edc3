/// A pair of strings: a header, an attribute, an entry of metadata.
public struct KeyValue: Hashable, Sendable {
    /// The name.
    public let key: String
    /// The value.
    public let value: String
    /// - Parameters:
    ///   - key: the name.
    ///   - value: the value.
    public init(_ key: String, _ value: String) {
        self.key = key
        self.value = value
    }
}
