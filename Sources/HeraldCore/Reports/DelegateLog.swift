import HeraldJSON
package import HeraldModel

/// Logs each change of a delegate's status, and each exhausted delivery. A delegate of the multicast and of the
/// registry, called on the writer's thread.
package final class DelegateLog: EventDelegate, RegistryDelegate {
    /// The variable parts of a line, by name; `nil` values are omitted.
    package typealias Fields = KeyValuePairs<String, String?>
    /// Writes a line: a constant message, and fields, which it may create later or not at all.
    package typealias Write = @Sendable (LogEntry.Level, StaticString, @escaping @Sendable () -> Fields) -> Void

    private let write: Write
    private let clock: @Sendable () -> Int64

    /// - Parameters:
    ///   - clock: milliseconds since 1970 UTC.
    ///   - write: called on the writer's thread; must not wait.
    package init(clock: @escaping @Sendable () -> Int64, write: @escaping Write) {
        self.clock = clock
        self.write = write
    }

    /// The maximum number of delegates that `started` names. The line about rows that can't be read has their number.
    private static let maxNamed = 100

    /// Reports the delegates that are disabled, because stored values of them can't be read. Called once, after the start.
    package func started(_ registry: Registry) {
        for delegate in registry.all.lazy.filter(\.state.isUnreadable).prefix(Self.maxNamed) {
            write(.error, "delegate disabled: stored values of it cannot be read") {
                [
                    "delegate": delegate.id, "url": delegate.settings.shownURL,
                    "reason": delegate.state.statusReason,
                ]
            }
        }
    }

    // MARK: RegistryDelegate

    package func registryChanged(_ change: Registry.Change) {
        switch change {
        case .registered(let delegate):
            info("delegate registered", delegate, to: delegate.status)
        case .changed(let old, let new):
            if old.status != new.status { info("delegate changed status", new, from: old.status, to: new.status) }
        case .removed(let delegate):
            let isOver = delegate.state.expiresAt.map { $0 <= clock() } ?? false
            info(isOver ? "delegate expired" : "delegate removed", delegate)
        }
    }

    private func info(
        _ message: StaticString, _ delegate: WebhookDelegate, from old: WebhookDelegate.Status? = nil,
        to new: WebhookDelegate.Status? = nil
    ) {
        write(.info, message) {
            [
                "delegate": delegate.id, "url": delegate.settings.shownURL,
                "from": old?.rawValue,
                "status": new?.rawValue, "reason": new == nil ? nil : delegate.state.statusReason,
            ]
        }
    }

    // MARK: EventDelegate

    /// These are not changes of the registration, or it does not have the reason.
    package func published(_ batch: EventBatch) {
        for event in batch.events where event.family == .service {
            switch event.type {
            case "herald.delegate.failing": write(.info, "delegate failing", event)
            case "herald.delegate.recovered": write(.info, "delegate recovered", event)
            case "herald.delegate.refusing": write(.warning, "delegate refuses an event type", event)
            case "herald.delivery.dropped": write(.warning, "delegate missed events", event)
            case "herald.delivery.exhausted": write(.warning, "delivery exhausted", event)
            default: break
            }
        }
    }

    private func write(_ level: LogEntry.Level, _ message: StaticString, _ event: Event) {
        write(level, message) {
            let data = try? JSONDocument(parsing: Array(event.data))
            func text(_ name: String) -> String? { data?[name]?.string }
            func number(_ name: String) -> String? { data?[name]?.integer.map { "\($0)" } }
            return [
                "delegate": text("delegate"), "url": text("url").map(WebhookSettings.withoutSecrets),
                "since": text("since"), "failing_since": text("failing_since"), "reason": text("reason"),
                "event": text("event"), "event_type": text("event_type"), "attempts": number("attempts"),
                "events_at_most": number("events_at_most"), "total_at_most": number("total_at_most"),
                "traceparent": event.attribute("traceparent"),
            ]
        }
    }
}
