/// A pair of texts: a header, an attribute, an entry of metadata.
public struct KeyValue: Hashable, Sendable {
    public let key: String
    public let value: String
    public init(_ key: String, _ value: String) {
        self.key = key
        self.value = value
    }
}
