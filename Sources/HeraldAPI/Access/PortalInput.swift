import Glibc
import HeraldCrypto
import HeraldJSON
import HeraldModel

/// Parses the member `portal` of an app: `{"title", "logo", "color", "language", "frame_origins"}`.
package enum PortalInput {
    static let fields = ["title", "logo", "color", "language", "frame_origins"]
    static let maxTitle = 64
    /// The dashboard loads the logo with each page.
    static let maxLogoBytes = 24 * 1024
    static let maxOrigins = 8
    /// The smallest contrast of text by WCAG 2.2, level AA.
    static let leastContrast = 4.5

    /// The prefixes of the accepted pictures, and the bytes with which they begin. They have no scripts and no links.
    private static let pictures: [(prefix: String, beginning: [UInt8])] = [
        ("data:image/png;base64,", [0x89, 0x50, 0x4E, 0x47]), ("data:image/jpeg;base64,", [0xFF, 0xD8, 0xFF]),
        ("data:image/gif;base64,", Array("GIF8".utf8)), ("data:image/webp;base64,", Array("RIFF".utf8)),
    ]

    /// Reads the given members, which are merged into the current settings.
    static func read(
        _ value: JSONValue, _ reader: inout FieldReader
    ) -> @Sendable (inout Portal) -> Void {
        if value.isNull { return { $0 = Portal() } }
        guard value.kind == .object else {
            reader.wrong("/portal", "must be an object or null")
            return { _ in }
        }
        var changes: [@Sendable (inout Portal) -> Void] = []
        func set<Value: Sendable>(_ member: any WritableKeyPath<Portal, Value> & Sendable, _ value: Value) {
            changes.append { $0[keyPath: member] = value }
        }
        for (key, member) in value.members {
            let place = JSONPointer.child("/portal", key)
            switch key {
            case "title": set(\.title, text(member, place, &reader, title))
            case "logo": set(\.logo, text(member, place, &reader, logo))
            case "color": set(\.color, text(member, place, &reader, color))
            case "language":
                set(\.language, member.isNull ? .english : reader.choice(member, place, default: .english))
            case "frame_origins": set(\.frameOrigins, member.isNull ? [] : origins(member, place, &reader))
            default: reader.wrong(place, "is not a field of portal; fields are: " + fields.joined(separator: ", "))
            }
        }
        let given = changes
        return { portal in for change in given { change(&portal) } }
    }

    /// - Parameter mistake: why a text is refused; `nil` if it is valid.
    private static func text(
        _ value: JSONValue, _ pointer: String, _ reader: inout FieldReader, _ mistake: (String) -> String?
    ) -> String? {
        if value.isNull { return nil }
        guard let text = reader.text(value, pointer) else { return nil }
        if let reason = mistake(text) { reader.wrong(pointer, reason) }
        return text
    }

    /// Why a title is refused; `nil` if it is valid.
    package static func title(_ text: String) -> String? {
        (1...maxTitle).contains(text.unicodeScalars.count)
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
            ? nil : "must be 1 to \(maxTitle) characters without control characters"
    }

    private static func logo(_ text: String) -> String? {
        guard text.utf8.count <= maxLogoBytes else { return "must be at most \(maxLogoBytes) bytes" }
        let isPicture = pictures.contains { prefix, beginning in
            text.hasPrefix(prefix) && Base64.decode(text.dropFirst(prefix.count))?.starts(with: beginning) == true
        }
        return isPicture ? nil : "must be a data: URL of a PNG, JPEG, GIF or WebP picture in base64"
    }

    static func color(_ text: String) -> String? {
        let digits = text.utf8.dropFirst().compactMap(hexadecimalDigit)
        guard text.utf8.count == 7, text.hasPrefix("#"), digits.count == 6 else { return "must be a color: #rrggbb" }
        func light(_ index: Int) -> Double {
            let part = Double(Int(digits[index]) * 16 + Int(digits[index + 1])) / 255
            return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
        }
        let luminance: Double = 0.2126 * light(0) + 0.7152 * light(2) + 0.0722 * light(4)
        let contrast = 1.05 / (luminance + 0.05)
        if contrast >= leastContrast { return nil }
        let shown = (contrast * 100).rounded(.down) / 100
        return "has a contrast of \(shown) with white text; the least is \(leastContrast): use a darker color"
    }

    private static func origins(_ value: JSONValue, _ pointer: String, _ reader: inout FieldReader) -> [String] {
        guard value.kind == .array, value.count <= maxOrigins else {
            reader.wrong(pointer, "must be an array of at most \(maxOrigins) origins")
            return []
        }
        var origins: [String] = []
        for (index, element) in value.elements.enumerated() {
            let place = "\(pointer)/\(index)"
            guard let text = reader.text(element, place) else { continue }
            guard OriginRules.isOrigin(text), text.hasPrefix("https://") || text.hasPrefix("http://") else {
                reader.wrong(place, "must be an origin as browsers write it, such as https://shop.example")
                continue
            }
            if !origins.contains(text) { origins.append(text) }
        }
        return origins
    }
}
