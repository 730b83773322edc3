/// A parsed text that owns its memory: the simple way for requests, configuration and tests.
///
/// ```swift
/// let document = try JSONDocument(parsing: body)
/// guard let url = document["url"]?.string else { … }
/// ```
package struct JSONDocument: Sendable {
    /// The outermost value.
    package let root: JSONValue

    package init(parsing text: [UInt8], limits: JSONLimits = .standard) throws(JSONError) {
        var parser = JSONParser(limits: limits)
        root = try parser.parse(text)
    }

    package init(parsing text: String, limits: JSONLimits = .standard) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }

    /// The number of values, including containers; keys do not count.
    package var valueCount: Int { Int(root.node.next) }

    /// The member of the outermost object with this key.
    package subscript(key: String) -> JSONValue? { root[key] }
}
