/// The names of events: 1–128 characters, segments of `[a-z0-9_]` joined by dots.
public enum EventType {
    /// Types that only the service itself posts.
    public static let reservedPrefix = "herald."

    /// What the service itself knows of a type.
    public enum Family: UInt8, Sendable {
        case auth, appState, service, other

        init(of type: String) {
            self =
                type.hasPrefix("auth.")
                ? .auth : type.hasPrefix("app_state.") ? .appState : type.hasPrefix(reservedPrefix) ? .service : .other
        }
    }

    public static func isValid(_ type: String) -> Bool {
        let bytes = type.utf8
        guard (1...128).contains(bytes.count) else { return false }
        var segmentIsEmpty = true
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
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
