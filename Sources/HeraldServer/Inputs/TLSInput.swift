import Crypto
import Herald
import JSON

/// Reads a delegate's `tls`.
struct TLSInput {
    private static let members = ["ca", "pin", "client_certificate", "client_key"]
    /// Of each text.
    private static let maxBytes = 65_536

    /// Merges what is given into what is there; `null` removes one member, or all of them.
    static func merge(_ value: JSONValue, into settings: inout TLSSettings, _ reader: inout FieldReader) {
        if value.isNull {
            settings = TLSSettings()
            return
        }
        guard value.kind == .object else { return reader.wrong("/tls", "must be an object, or null") }
        for (key, member) in value.members {
            switch key {
            case "ca": settings.authorities = certificates(member, "/tls/ca", &reader)
            case "pin": settings.pin = pin(member, &reader)
            case "client_certificate":
                settings.clientCertificate = certificates(member, "/tls/client_certificate", &reader)
            case "client_key": settings.clientKey = text(member, "/tls/client_key", &reader)
            default:
                reader.wrong(
                    JSONPointer.child("/tls", key), "is not a member here; known: \(members.joined(separator: ", "))")
            }
        }
    }

    /// What can only be said of all members together, and of the URL.
    static func check(_ settings: WebhookSettings, _ reader: inout FieldReader) {
        let tls = settings.tls
        if tls.isEmpty { return }
        if settings.url.hasPrefix("http://") {
            reader.wrong("/tls", "needs a URL that begins with https://: without TLS there is nothing to check")
        }
        switch (tls.clientCertificate, tls.clientKey) {
        case (nil, nil): break
        case (nil, _): reader.wrong("/tls/client_certificate", "is required with client_key")
        case (_, nil): reader.wrong("/tls/client_key", "is required with client_certificate")
        case (let certificate?, let key?):
            switch Certificates.judge(key: key, of: certificate) {
            case .fits: break
            case .unreadable:
                reader.wrong(
                    "/tls/client_key", "must be a private key in PEM (-----BEGIN PRIVATE KEY-----), not encrypted")
            case .mismatch: reader.wrong("/tls/client_key", "does not belong to client_certificate")
            }
        }
    }

    private static func text(_ value: JSONValue, _ pointer: String, _ reader: inout FieldReader) -> String? {
        if value.isNull { return nil }
        guard let text = value.string, (1...maxBytes).contains(text.utf8.count), !text.utf8.contains(0) else {
            reader.wrong(pointer, "must be a text in PEM of at most \(maxBytes) bytes, or null")
            return nil
        }
        return text
    }

    private static func certificates(_ value: JSONValue, _ pointer: String, _ reader: inout FieldReader) -> String? {
        guard let text = text(value, pointer, &reader) else { return nil }
        guard Certificates.count(in: text) > 0 else {
            reader.wrong(pointer, "must be one or more certificates in PEM (-----BEGIN CERTIFICATE-----)")
            return nil
        }
        return text
    }

    private static func pin(_ value: JSONValue, _ reader: inout FieldReader) -> String? {
        if value.isNull { return nil }
        guard let text = value.string, text.utf8.count == 44, let bytes = Base64.decode(text), bytes.count == 32 else {
            reader.wrong("/tls/pin", "must be the SHA-256 of the receiver's public key (DER) in base64: 44 characters")
            return nil
        }
        return text
    }
}
