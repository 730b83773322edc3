public import HeraldModel

/// A report of a hub to its operator: a change of a webhook, a delivery that was given up, a failure of the storage.
public struct LogEntry: Sendable, CustomStringConvertible {
    /// How important it is.
    public enum Level: String, Sendable, CaseIterable {
        /// A change, such as a webhook that was registered, or works again.
        case info
        /// Something was lost, or is about to be: a delivery that was given up.
        case warning
        /// The storage fails: events are refused.
        case error
    }

    /// How important it is.
    public let level: Level
    /// The kind of the report: a constant text.
    public let message: String
    /// The variable parts, such as `delegate`, `url` and `reason`. Values that may be secret are left out.
    public let fields: [KeyValue]

    package init(_ level: Level, _ message: StaticString, _ fields: KeyValuePairs<String, String?>) {
        self.level = level
        self.message = "\(message)"
        self.fields = fields.compactMap { name, value in value.map { KeyValue(name, $0) } }
    }

    /// One line: the level, the message and the fields.
    public var description: String {
        (["\(level.rawValue): \(message)"] + fields.map { "\($0.key)=\($0.value.debugDescription)" }).joined(
            separator: " ")
    }
}
