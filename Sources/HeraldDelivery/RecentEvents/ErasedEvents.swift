package import HeraldModel

/// The most recently erased events, to remove them from earlier copies: a page that was read before the erasure, or the
/// outcome of an attempt that was under way. A value; bounded, and shared by the apps like a table (`TableTrim`): an app that
/// erases many events does not push out those of the others.
package struct ErasedEvents {
    static let limit = 20_000
    /// The events beyond the limit with which some are removed.
    static let slack = 1_000

    private var apps: [LogPosition: AppKey] = [:]
    /// Oldest first.
    private var order: [LogPosition] = []

    package init() {}

    var isEmpty: Bool { apps.isEmpty }
    package func contains(_ sequence: LogPosition) -> Bool { apps[sequence] != nil }

    package mutating func insert(_ erased: Set<LogPosition>, of app: AppKey) {
        for sequence in erased where apps.updateValue(app, forKey: sequence) == nil { order.append(sequence) }
        if order.count > Self.limit + Self.slack { trim() }
    }

    private mutating func trim() {
        let counts = apps.values.reduce(into: [AppKey: Int64]()) { $0[$1, default: 0] += 1 }
        let trim = TableTrim(counts.map { TableTrim.Share(app: $0, rows: $1) }, limit: Int64(Self.limit))
        var excess = trim.shares.reduce(into: [AppKey: Int64]()) { $0[$1.app] = $1.rows }
        var oldest = trim.oldest
        var kept: [LogPosition] = []
        for sequence in order {
            if let app = apps[sequence], let rows = excess[app], rows > 0 {
                excess[app] = rows - 1
                apps[sequence] = nil
            } else if oldest > 0 {
                oldest -= 1
                apps[sequence] = nil
            } else {
                kept.append(sequence)
            }
        }
        order = kept
    }

    /// The batch without the contents of erased events.
    func applied(to batch: EventBatch) -> EventBatch {
        guard !isEmpty, !batch.events.isEmpty else { return batch }
        var events = batch.events
        for place in events.indices where contains(batch.first + LogPosition(place)) && !events[place].isErased {
            events[place] = events[place].erased()
        }
        return EventBatch(first: batch.first, events: events)
    }

    /// The checkpoint without erased events: it would restore what the erasure removed.
    package func applied(to checkpoint: Checkpoint) -> Checkpoint {
        guard !isEmpty else { return checkpoint }
        var checkpoint = checkpoint
        checkpoint.attempts.removeAll { contains($0.event) }
        checkpoint.waiting.removeAll { contains($0.event) }
        return checkpoint
    }
}
