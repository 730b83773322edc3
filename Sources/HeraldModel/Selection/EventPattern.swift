/// The event types of a delegate: an exact type, everything below a prefix (`auth.*`), or all types (`*`).
///
/// The service's own events (`herald.…`) must be named: `*` does not match them.
public enum EventPattern: Hashable, Sendable {
    /// Every type except Herald's own.
    case any
    /// `auth.*` is `.prefix("auth.")`, with the dot.
    case prefix(String)
    /// One type, such as `order.placed`.
    case exact(String)

    /// A description of a valid pattern.
    package static let words = "a type such as auth.logged_in, a prefix such as auth.*, or *"

    /// Parses `order.placed`, `order.*` or `*`; `nil` if the text has none of these forms.
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

    /// The pattern with this text. If the text is no pattern, the rules refuse the result where it is used.
    package init(unchecked text: String) { self = EventPattern(text) ?? .exact(text) }

    package func matches(_ type: String) -> Bool {
        switch self {
        case .any: EventType.Family(of: type) != .service
        case .prefix(let prefix): type.hasPrefix(prefix)
        case .exact(let exact): type == exact
        }
    }

    /// Whether both match some type.
    package func overlaps(_ other: EventPattern) -> Bool {
        switch (self, other) {
        case (.exact(let type), _): other.matches(type)
        case (_, .exact(let type)): matches(type)
        case (.prefix(let prefix), .prefix(let second)): prefix.hasPrefix(second) || second.hasPrefix(prefix)
        case (.any, .prefix(let prefix)), (.prefix(let prefix), .any): EventPattern.any.matches(prefix)
        case (.any, .any): true
        }
    }

    /// The form of the HTTP API: `order.placed`, `order.*` or `*`.
    public var text: String {
        switch self {
        case .any: "*"
        case .prefix(let prefix): prefix + "*"
        case .exact(let exact): exact
        }
    }
}
