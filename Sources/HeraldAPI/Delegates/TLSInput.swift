import HeraldJSON
import HeraldModel

/// Parses a delegate's `tls`.
struct TLSInput {
    private static let members = ["ca", "pin", "client_certificate", "client_key"]

    /// Merges the given members into the existing ones; `null` removes one member, or all of them.
    static func merge(_ value: JSONValue, into settings: inout TLSSettings, _ reader: inout FieldReader) {
        if value.isNull {
            settings = TLSSettings()
            return
        }
        guard value.kind == .object else { return reader.wrong("/tls", "must be an object, or null") }
        for (key, member) in value.members {
            switch key {
            case "ca": settings.authorities = text(member, "/tls/ca", &reader)
            case "pin": settings.pin = text(member, "/tls/pin", &reader)
            case "client_certificate":
                settings.clientCertificate = text(member, "/tls/client_certificate", &reader)
            case "client_key": settings.clientKey = text(member, "/tls/client_key", &reader)
            default: reader.wrong([.noMember(JSONPointer.child("/tls", key), of: members)])
            }
        }
    }

    private static func text(_ value: JSONValue, _ pointer: String, _ reader: inout FieldReader) -> String? {
        if value.string == nil, !value.isNull { reader.wrong(pointer, "must be a text, or null") }
        return value.string
    }
}
