/// A pair of texts: a header, an attribute, an entry of metadata.
public struct KeyValue: Hashable, Sendable {
    /// The name.
    public let key: String
    /// What it is.
    public let value: String
    /// - Parameters:
    ///   - key: the name.
    ///   - value: what it is.
    public init(_ key: String, _ value: String) {
        self.key = key
        self.value = value
    }
}
