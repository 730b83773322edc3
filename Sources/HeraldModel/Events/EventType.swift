/// Event types: 1–128 characters, segments of `[A-Za-z0-9_-]` joined by dots. Case-sensitive.
package enum EventType {
    /// Types that only the service posts.
    package static let reservedPrefix = "herald."

    /// The built-in families of types.
    package enum Family: UInt8, Sendable {
        case auth, appState, service, other

        package init(of type: String) {
            // Called several times for each event, and most events belong to no family.
            switch type.utf8.first {
            case UInt8(ascii: "a") where type.begins(with: "auth."): self = .auth
            case UInt8(ascii: "a") where type.begins(with: "app_state."): self = .appState
            case UInt8(ascii: "h") where type.begins(with: reservedPrefix): self = .service
            default: self = .other
            }
        }
    }

    /// A description of a valid type.
    package static let words = "1 to 128 characters: segments of A-Z, a-z, 0-9, _ and - joined by dots"

    package static func isValid(_ type: String) -> Bool {
        let bytes = type.utf8.span
        guard (1...128).contains(bytes.count) else { return false }
        var segmentIsEmpty = true
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                segmentIsEmpty = false
            case UInt8(ascii: ".") where !segmentIsEmpty:
                segmentIsEmpty = true
            default:
                return false
            }
        }
        return !segmentIsEmpty
    }
}

extension String {
    /// Whether it contains U+0000. (`utf8.contains(0)` takes ten times as long.)
    var hasNull: Bool {
        let bytes = utf8.span
        for index in bytes.indices where bytes[index] == 0 { return true }
        return false
    }

    /// Whether it starts with these bytes. (`hasPrefix` compares characters, which takes ten times as long.)
    func begins(with prefix: String) -> Bool {
        let bytes = utf8.span
        let prefix = prefix.utf8.span
        guard bytes.count >= prefix.count else { return false }
        for index in prefix.indices where bytes[index] != prefix[index] { return false }
        return true
    }
}
