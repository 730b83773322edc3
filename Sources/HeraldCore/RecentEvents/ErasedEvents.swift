/// The most recently erased events, to remove them from earlier copies: a page that was read before the erasure, or the
/// outcome of an attempt that was under way. A value; bounded.
struct ErasedEvents {
    static let limit = 20_000

    private var sequences: Set<LogPosition> = []
    /// Oldest first.
    private var order: [LogPosition] = []

    var isEmpty: Bool { sequences.isEmpty }
    func contains(_ sequence: LogPosition) -> Bool { sequences.contains(sequence) }

    mutating func insert(_ erased: Set<LogPosition>) {
        for sequence in erased where sequences.insert(sequence).inserted { order.append(sequence) }
        guard order.count > Self.limit else { return }
        for sequence in order.prefix(order.count - Self.limit) { sequences.remove(sequence) }
        order.removeFirst(order.count - Self.limit)
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
    func applied(to checkpoint: Checkpoint) -> Checkpoint {
        guard !isEmpty else { return checkpoint }
        var checkpoint = checkpoint
        checkpoint.attempts.removeAll { contains($0.event) }
        checkpoint.waiting.removeAll { contains($0.event) }
        return checkpoint
    }
}
