/// The names of a CloudEvent's attributes.
public enum CloudEventAttribute {
    public static let specVersion = "specversion"
    public static let id = "id"
    public static let source = "source"
    public static let type = "type"
    public static let subject = "subject"
    public static let time = "time"
    public static let dataContentType = "datacontenttype"
    public static let dataSchema = "dataschema"

    private static let own: Set<String> = [
        specVersion, id, source, type, subject, time, dataContentType, "data", "data_base64",
    ]

    /// Whether this is the name of an extension, or `dataschema`: what an event holds as it came.
    static func isOptional(_ name: String) -> Bool { isValid(name) && !own.contains(name) }

    /// Letters a–z and digits; the specification recommends at most 20 of them.
    public static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: false
                }
            }
    }
}
