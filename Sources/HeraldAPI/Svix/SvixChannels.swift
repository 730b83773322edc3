import HeraldJSON
import HeraldModel

/// Channels of Svix: names that a message has, and of which an endpoint wants one. A message without channels is for endpoints
/// without channels only.
///
/// The channels of a message are an attribute of the event (``EventChannels``). Those of an endpoint are its filter.
enum SvixChannels {
    static let ofMessage = 1...5
    static let ofEndpoint = 1...10

    /// - Returns: `nil` for `null`, and for no channels, which SDKs send as `[]`.
    static func read(_ value: JSONValue, _ counts: ClosedRange<Int>, _ reader: inout FieldReader) -> [String]? {
        if value.isNull || (value.kind == .array && value.count == 0) { return nil }
        let names = value.elements.compactMap(\.string)
        guard value.kind == .array, counts.contains(value.count), names.count == value.count,
            Set(names).count == names.count, names.allSatisfy(EventChannels.isName)
        else {
            reader.wrong(
                "/channels",
                "must be null, or \(counts.lowerBound) to \(counts.upperBound) different names of 1 to 128 of A-Z, a-z, "
                    + "0-9, -, _ and .")
            return nil
        }
        return names
    }

    /// The filter of an endpoint with these channels, as JSON.
    static func filter(_ names: [String]) -> [UInt8] {
        JSONWriter.document { $0.member(EventChannels.attribute, names) }
    }

    /// The channels of an endpoint: those of a filter that has no other condition; `nil` for another filter.
    static func names(of filter: ContentFilter?) -> [String]? {
        guard let filter, let document = try? JSONDocument(parsing: filter.text), document.root.count == 1,
            let list = document[EventChannels.attribute]
        else { return nil }
        let names = list.elements.compactMap(\.string)
        return names.count == list.count ? names : nil
    }
}
