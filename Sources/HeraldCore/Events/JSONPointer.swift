/// RFC 6901.
public enum JSONPointer {
    public static func child(_ parent: String, _ key: String) -> String {
        var escaped = parent + "/"
        for character in key.unicodeScalars {
            switch character {
            case "~": escaped += "~0"
            case "/": escaped += "~1"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
