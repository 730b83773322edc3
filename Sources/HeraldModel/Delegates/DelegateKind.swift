/// How a delegate gets its events. A kind is one line of each table below.
package enum DelegateKind: String, Sendable, CaseIterable {
    /// A delivery loop sends callbacks to a URL.
    case webhook
    /// Consumers request the events: a pull hands out a run of them, and an acknowledgement settles it.
    case pull
}

extension DelegateKind {
    /// An action of a client on a delegate, besides changing and removing it.
    package enum Action: Sendable {
        /// Sends a `herald.test`.
        case test
        case rotateSecret
        /// Begins a replay. A pull delegate has `seek`.
        case replay
        case preview
        /// Pulls, acknowledges, extends and seeks.
        case pull
    }

    package func allows(_ action: Action) -> Bool {
        switch self {
        case .webhook: action != .pull
        case .pull: action == .pull
        }
    }

    /// Whether it has a setting with this name. The others keep their defaults.
    package func hasField(_ name: String) -> Bool {
        switch self {
        case .webhook: name != "ack_seconds"
        case .pull: Self.common.contains(name) || name == "ack_seconds"
        }
    }

    /// The settings of every kind: which events, for whom, in which order, and how often.
    private static let common: Set = [
        "kind", "events", "subjects", "filter", "description", "metadata", "ordering", "retry_schedule",
    ]
}
