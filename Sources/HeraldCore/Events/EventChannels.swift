/// The channels of an event: names that its publisher has chosen, by which filters select events. The channels of a message of
/// Svix, and the extension `channels` of a CloudEvent, are stored as one attribute: the names with commas between them.
package enum EventChannels {
    /// The name of the attribute.
    package static let attribute = "channels"

    /// 1 to 128 of A-Z, a-z, 0-9, `-`, `_` and `.`.
    package static func isName(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    /// The stored attribute with these names.
    package static func pair(_ names: [String]) -> KeyValue { KeyValue(attribute, names.joined(separator: ",")) }
}

extension Event {
    /// Empty without the attribute.
    package var channels: [String] {
        attribute(EventChannels.attribute)?.split(separator: ",").map(String.init) ?? []
    }
}
