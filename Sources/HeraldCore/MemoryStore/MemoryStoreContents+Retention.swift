/// Retention and erasure.
extension MemoryContents {
    func lastEvent(before time: Int64) -> LogPosition {
        marks.filter { $0.time < time }.max { $0.time < $1.time }?.sequence ?? 0
    }

    func sequence(since time: Int64) -> LogPosition {
        // All events that arrived before the previous mark are below; all that arrived after the next mark are above.
        let start = max(first, lastEvent(before: time) + 1)
        let end = min(head, marks.filter { $0.time >= time }.min { $0.time < $1.time }?.sequence ?? head)
        guard start <= end else { return start }
        return (start...end).first { event($0)?.time ?? .min >= time } ?? end + 1
    }

    func undelivered(through sequence: LogPosition, limit: Int, maxBytes: Int) -> EventBatch {
        let end = min(sequence, head - 1, first - 1 + min(LogPosition(limit), head))
        let isWanted =
            settled < end || lanes.values.contains { $0.cursor < end }
            || waiting.values.contains { $0.event <= end && $0.state == .retrying }
        guard isWanted, first <= end else { return EventBatch(first: first, events: []) }
        var bytes = 0
        let events = events.prefix(Int(end - first + 1)).prefix { event in
            defer { bytes += event.data.count }
            return bytes <= maxBytes
        }
        return EventBatch(first: first, events: Array(events))
    }

    mutating func removeEvents(through sequence: LogPosition, limit: Int) -> LogPosition {
        let count = Int(max(0, min(sequence, head - 1, first - 1 + min(LogPosition(limit), head)) - first + 1))
        for event in events.prefix(count) { sequences[NameInApp(app: event.app, name: event.id)] = nil }
        events.removeFirst(count)
        first += LogPosition(count)
        let first = first
        waiting = waiting.filter { $0.key.event >= first }
        if let needed = marks.filter({ $0.sequence < first }).map(\.sequence).max() {
            marks.removeAll { $0.sequence < needed }
        }
        return first
    }

    mutating func count(_ removal: Removal) {
        guard let index = removals.firstIndex(where: { $0.part == removal.part && $0.cause == removal.cause }) else {
            return removals.append(removal)
        }
        removals[index].count += removal.count
    }

    mutating func removeAttempts(before time: Int64, limit: Int) -> Int {
        let looked = max(0, min(limit, attempts.count - 1))
        let kept = attempts.prefix(looked).filter { $0.record.startedAt >= time }
        attempts.replaceSubrange(0..<looked, with: kept)
        return looked - kept.count
    }

    mutating func erase(_ erased: Set<LogPosition>) -> Erasure {
        var erasure = Erasure()
        for sequence in erased {
            guard let event = event(sequence), !event.isErased else { continue }
            events[Int(sequence - first)] = event.erased()
            erasure.events += 1
        }
        let before = (attempts.count, waiting.count)
        attempts.removeAll { erased.contains($0.record.event) }
        waiting = waiting.filter { !erased.contains($0.key.event) }
        erasure.attempts = before.0 - attempts.count
        erasure.deliveries = before.1 - waiting.count
        return erasure
    }

    mutating func erase(_ subject: ErasedSubject, app: AppKey) -> Erasure {
        var erasure = Erasure()
        if authStatus.removeValue(forKey: NameInApp(app: app, name: subject.userID)) != nil {
            erasure.authStatuses = 1
        }
        let before = answers.count
        answers = answers.filter { $0.key.app != app || !subject.isNamed(in: $0.value.answer.body) }
        erasure.answers = before - answers.count
        return erasure
    }
}
