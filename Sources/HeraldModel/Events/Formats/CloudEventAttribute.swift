/// The names of a CloudEvent's attributes.
package enum CloudEventAttribute {
    package static let specVersion = "specversion"
    package static let id = "id"
    package static let source = "source"
    package static let type = "type"
    package static let subject = "subject"
    package static let time = "time"
    package static let dataContentType = "datacontenttype"
    package static let dataSchema = "dataschema"

    private static let own: Set<String> = [
        specVersion, id, source, type, subject, time, dataContentType, "data", "data_base64",
    ]

    /// Whether this is the name of an extension, or `dataschema`: an attribute that is stored unchanged.
    static func isOptional(_ name: String) -> Bool { isValid(name) && !own.contains(name) }

    /// Letters a–z and digits; the specification recommends at most 20.
    package static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: false
                }
            }
    }
}
