import HeraldModel

/// The event types that one receiver refuses while it accepts others: a handler of one type fails, and the receiver
/// works. Pure, and bounded.
///
/// A type is *refused* from `minimumFailures` failures on that a success of another type has interrupted; its next
/// success ends that. So the type of the newest success is never refused, and a receiver that accepts nothing opens the
/// breaker as before.
struct RefusedTypes: Equatable {
    private struct Entry: Equatable, Sendable {
        var shown: FlowStatus.RefusedType
        /// Another type has succeeded between two of the failures.
        var isInterrupted = false
        /// Another type has succeeded since the newest failure.
        var isFollowed = false

        var isRefused: Bool { isInterrupted && shown.failures >= RefusedTypes.minimumFailures }
    }

    static let minimumFailures = 5
    /// The maximum number of types that are counted. The failures of other types count for the receiver as a whole.
    static let maxTypes = 64
    /// Nanoseconds without any success after which failures of a refused type count for the receiver again.
    static let staleAfter: Int64 = 600_000_000_000

    private var entries: [Entry] = []

    /// In the order of their first failure.
    var all: [FlowStatus.RefusedType] { entries.filter(\.isRefused).map(\.shown) }

    func contains(_ type: String) -> Bool { entries.contains { $0.isRefused && $0.shown.type == type } }

    /// - Parameter wall: milliseconds since 1970 UTC.
    mutating func failed(_ type: String, _ reason: String, wall: Int64) {
        let known = entries.firstIndex { $0.shown.type == type }
        guard let index = known ?? add(type, reason, wall) else { return }
        entries[index].shown.failures += 1
        entries[index].shown.reason = reason
        if entries[index].isFollowed {
            entries[index].isFollowed = false
            entries[index].isInterrupted = true
        }
    }

    mutating func succeeded(_ type: String) {
        if entries.isEmpty { return }
        entries.removeAll { $0.shown.type == type }
        for index in entries.indices { entries[index].isFollowed = true }
    }

    /// - Returns: its index; `nil` if all entries are of refused types.
    private mutating func add(_ type: String, _ reason: String, _ wall: Int64) -> Int? {
        if entries.count >= Self.maxTypes {
            guard let other = entries.firstIndex(where: { !$0.isRefused }) else { return nil }
            entries.remove(at: other)
        }
        entries.append(Entry(shown: .init(type: type, since: wall, reason: reason)))
        return entries.count - 1
    }
}

extension CallbackOutcome {
    /// Whether the cause may be the type of the event: the receiver was reachable, and requested no pause.
    var mayConcernType: Bool {
        switch verdict {
        case .answered(200...299, _), .answered(429, _): false
        case .answered(_, let seconds): seconds == nil
        case .failed(let failure, _): [.timeout, .protocolError, .responseRefused].contains(failure)
        }
    }
}
