/// Which event types a delegate wants: an exact type, everything below a prefix (`auth.*`), or all (`*`).
///
/// The service's own events (`herald.…`) come only to those who name them: `*` does not mean these.
public enum EventPattern: Hashable, Sendable {
    /// Every type but Herald's own.
    case any
    /// `auth.*` is `.prefix("auth.")`: the prefix ends with the dot.
    case prefix(String)
    /// One type, such as `order.placed`.
    case exact(String)

    /// What a pattern must be, in words.
    package static let words = "a type such as auth.logged_in, a prefix such as auth.*, or *"

    /// Reads `order.placed`, `order.*` or `*`; `nil` when the text is none of the three forms.
    public init?(_ text: String) {
        if text == "*" {
            self = .any
        } else if text.hasSuffix(".*") {
            let stem = String(text.dropLast(2))
            guard EventType.isValid(stem) else { return nil }
            self = .prefix(stem + ".")
        } else {
            guard EventType.isValid(text) else { return nil }
            self = .exact(text)
        }
    }

    package func matches(_ type: String) -> Bool {
        switch self {
        case .any: !ServiceFamily.isOne(type)
        case .prefix(let prefix): type.hasPrefix(prefix)
        case .exact(let exact): type == exact
        }
    }

    /// As the HTTP API writes it: `order.placed`, `order.*` or `*`.
    public var text: String {
        switch self {
        case .any: "*"
        case .prefix(let prefix): prefix + "*"
        case .exact(let exact): exact
        }
    }
}
