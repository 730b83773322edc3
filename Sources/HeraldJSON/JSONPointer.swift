/// JSON pointers (RFC 6901): `/data/user`, and `""` for the whole document.
package enum JSONPointer {
    /// The pointer of a member.
    package static func child(_ parent: String, _ key: String) -> String {
        guard key.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else {
            return "\(parent)/\(key)"
        }
        return key.unicodeScalars.reduce(into: parent + "/") { text, character in
            switch character {
            case "~": text += "~0"
            case "/": text += "~1"
            default: text.unicodeScalars.append(character)
            }
        }
    }

    /// The key of one part of a pointer; `nil` if it contains an invalid `~`.
    package static func key(_ part: Substring) -> String? {
        var text = ""
        var isEscaped = false
        for character in part.unicodeScalars {
            switch (isEscaped, character) {
            case (true, "0"): text += "~"
            case (true, "1"): text += "/"
            case (true, _): return nil
            case (false, "~"): break
            case (false, _): text.unicodeScalars.append(character)
            }
            isEscaped = !isEscaped && character == "~"
        }
        return isEscaped ? nil : text
    }
}
