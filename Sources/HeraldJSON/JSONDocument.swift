/// A parsed text that owns its memory: the simple way for requests, configuration and tests.
///
/// ```swift
/// let document = try JSONDocument(parsing: body)
/// guard let url = document["url"]?.string else { … }
/// ```
public struct JSONDocument: Sendable {
    /// The outermost value.
    public let root: JSONValue

    public init(parsing text: [UInt8], limits: JSONLimits = .standard) throws(JSONError) {
        var parser = JSONParser(limits: limits)
        root = try parser.parse(text)
    }

    public init(parsing text: String, limits: JSONLimits = .standard) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }

    /// The number of values, including containers; keys do not count.
    public var valueCount: Int { Int(root.node.next) }

    /// The member of the outermost object with this key.
    public subscript(key: String) -> JSONValue? { root[key] }
}
