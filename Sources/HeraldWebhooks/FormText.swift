import HeraldJSON
import HeraldModel

/// The form of HTML pages, `application/x-www-form-urlencoded`.
enum FormText {
    static func encoded(_ text: String) -> String {
        let bytes = text.utf8.reduce(into: [UInt8]()) { bytes, byte in
            if byte == UInt8(ascii: " ") { bytes.append(UInt8(ascii: "+")) } else { URLPart.append(byte, to: &bytes) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func encoded(_ fields: [(name: String, value: String)]) -> String {
        fields.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }

    /// The members of an object of scalars.
    static func fields(_ json: [UInt8]) throws(FieldError) -> [(name: String, value: String)] {
        guard let document = try? JSONDocument(parsing: json, limits: TemplateLimits.rendered),
            document.root.kind == .object
        else {
            throw FieldError("/body", "must be an object to be sent as a form")
        }
        var fields: [(name: String, value: String)] = []
        for (name, value) in document.root.members {
            switch value.kind {
            case .string: fields.append((name, value.string ?? ""))
            case .number, .bool: fields.append((name, String(decoding: value.bytes, as: UTF8.self)))
            case .null: fields.append((name, ""))
            case .array, .object:
                throw FieldError(
                    JSONPointer.child("/body", name), "must be a text, a number, true, false or null in a form")
            }
        }
        return fields
    }
}
