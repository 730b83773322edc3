import HeraldRuntime

/// The channels of an event: names that its publisher has chosen, by which filters select events. The channels of a message of
/// Svix, and the extension `channels` of a CloudEvent, are stored as one attribute: the names with commas between them.
package enum EventChannels {
    /// The name of the attribute.
    package static let attribute = "channels"

    /// 1 to 128 of A-Z, a-z, 0-9, `-`, `_` and `.`.
    package static func isName(_ text: String) -> Bool { text.isPlainName(limit: 128) }

    /// The stored attribute with these names.
    package static func pair(_ names: [String]) -> KeyValue { KeyValue(attribute, names.joined(separator: ",")) }
}

extension Event {
    /// Empty without the attribute.
    package var channels: [String] {
        attribute(EventChannels.attribute)?.split(separator: ",").map(String.init) ?? []
    }
}
