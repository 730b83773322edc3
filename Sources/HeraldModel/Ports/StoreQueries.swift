/// An event with its position in the log.
package struct LoggedEvent: Sendable {
    package let sequence: LogPosition
    package let event: Event
    package init(sequence: LogPosition, event: Event) {
        self.sequence = sequence
        self.event = event
    }
}

/// A selection of events of the log.
package struct EventQuery: Sendable {
    package var app: AppKey = .default
    /// Empty: any type. `*` means any type here, Herald's own included.
    package var types: [EventPattern] = []
    package var subject: String?
    /// Milliseconds since 1970, both inclusive.
    package var since: Int64?
    package var until: Int64?
    /// Only events before this position, for the next page.
    package var before: LogPosition?
    /// Only events after this position.
    package var after: LogPosition = 0
    /// ≥ 1.
    package var limit: Int = 50
    /// The maximum size of the bodies in the result, in bytes. The event that reaches it is the last one.
    package var maxBytes = Int.max
    package init() {}

    /// The smallest range of texts that has all types. Each type in it matches if there is one pattern at most.
    package var typeRange: (from: String, to: String) {
        if types.contains(.any) { return ("", "~") }
        // "~" sorts after every character of a type.
        let ranges = types.map { pattern in
            switch pattern {
            case .any: ("", "~")
            case .prefix(let prefix): (prefix, prefix + "~")
            case .exact(let type): (type, type)
            }
        }
        return (ranges.map(\.0).min() ?? "", ranges.map(\.1).max() ?? "~")
    }

    /// Whether a type matches.
    package func includes(type: String) -> Bool {
        types.isEmpty || types.contains { $0 == .any || $0.matches(type) }
    }

    /// Whether an event matches, apart from its position.
    package func matches(_ event: Event) -> Bool {
        // By bytes, as the store compares subjects.
        if let wanted = subject, event.subject?.utf8.elementsEqual(wanted.utf8) != true { return false }
        return event.app == app && includes(type: event.type)
            && event.time >= since ?? .min && event.time <= until ?? .max && event.audience == nil
    }
}

/// A selection of a delegate's attempts.
package struct AttemptQuery: Sendable {
    package var delegate: DelegateKey
    package var event: LogPosition?
    /// `true`: only successes; `false`: only failures.
    package var succeeded: Bool?
    /// Only attempts with a smaller id.
    package var before: Int64?
    package var limit: Int = 50
    /// The maximum number of attempts that one search reads, about ten milliseconds.
    package static let maxWork = 10_000
    package init(delegate: DelegateKey) { self.delegate = delegate }
}
