package import HeraldModel
import HeraldRuntime

/// Retention and erasure.
extension MemoryContents {
    package func lastEvent(before time: Int64) -> LogPosition {
        marks.filter { $0.time < time }.max { $0.time < $1.time }?.sequence ?? 0
    }

    package func sequence(since time: Int64) -> LogPosition { places(at: time).early }

    package func lastEvent(through time: Int64) -> LogPosition {
        places(at: time == .max ? time : time + 1).late - 1
    }

    /// The first event that may have been accepted at this time or later, and the first that is known to have been.
    private func places(at time: Int64) -> (early: LogPosition, late: LogPosition) {
        let window = AcceptanceWindow(
            before: marks.filter { $0.time < time }.max { $0.time < $1.time },
            later: marks.filter { $0.time >= time }.min { $0.time < $1.time }, first: first, head: head,
            now: Clock.system.wall())
        if window.isEmpty { return (window.after + 1, window.end) }
        let (ids, id) = (window.ids, AcceptanceWindow.ids(at: time).first)
        /// `nil` if it is unknown.
        func isLater(_ position: LogPosition) -> Bool? {
            guard let event = event(position) else { return nil }
            if ids.contains(event.id) { return event.id >= id }
            return (window.low...max(window.low, window.high)).contains(event.time) ? event.time >= time : nil
        }
        let places = window.after + 1...window.until
        let late = places.first { isLater($0) == true } ?? window.end
        let known = places.last { $0 < late && isLater($0) != nil } ?? window.after
        return (known + 1, late)
    }

    package mutating func removeEvents(_ range: ClosedRange<LogPosition>, limit: Int) -> RemovedEvents {
        let lower = max(range.lowerBound, first)
        let end = min(range.upperBound, head - 1, lower - 1 + min(LogPosition(limit), head))
        let waits = waiting.values.filter { $0.state == .retrying && lower <= $0.event && $0.event <= end }
        let needed = waits.map(\.event).min()
        let upper = needed.map { $0 - 1 } ?? end
        guard lower <= upper else { return RemovedEvents(count: 0, through: needed ?? upper, first: first) }
        let rows = (lower == first ? 0 : lower)...upper
        var count = 0
        for position in lower...upper {
            guard let event = event(position) else { continue }
            sequences[NameInApp(app: event.app, name: event.id)] = nil
            removed.insert(position)
            count += 1
        }
        let kept = (first...head).first { !removed.contains($0) } ?? head
        events.removeFirst(Int(kept - first))
        first = kept
        removed = removed.filter { $0 > kept }
        waiting = waiting.filter { !rows.contains($0.key.event) || $0.value.state == .retrying }
        if let needed = marks.filter({ $0.sequence < kept }).map(\.sequence).max() {
            marks.removeAll { $0.sequence < needed }
        }
        return RemovedEvents(count: count, through: needed ?? upper, first: first)
    }

    package mutating func count(_ removal: Removal) {
        guard let index = removals.firstIndex(where: { $0.part == removal.part && $0.cause == removal.cause }) else {
            return removals.append(removal)
        }
        removals[index].count += removal.count
    }

    package mutating func removeAttempts(before time: Int64, limit: Int) -> Int {
        let looked = max(0, min(limit, attempts.count - 1))
        let kept = attempts.prefix(looked).filter { $0.record.startedAt >= time }
        attempts.replaceSubrange(0..<looked, with: kept)
        return looked - kept.count
    }

    package mutating func removeAttempts(through id: Int64, limit: Int) -> RemovedAttempts {
        let removed = attempts.dropLast().prefix(limit).prefix { $0.id <= id }
        let bytes = removed.reduce(0) { $0 + $1.record.storedBytes }
        attempts.removeFirst(removed.count)
        return RemovedAttempts(count: removed.count, bytes: Int64(bytes))
    }

    /// - Parameter limit: the maximum number of attempts, and of deliveries.
    package mutating func erase(_ erased: Set<LogPosition>, limit: Int) -> Erasure {
        var erasure = Erasure()
        let wiped = attempts.indices.filter { erased.contains(attempts[$0].record.event) }.prefix(limit)
        for index in wiped.reversed() { attempts.remove(at: index) }
        let dropped = waiting.keys.filter { erased.contains($0.event) }.prefix(limit)
        for key in dropped { waiting[key] = nil }
        (erasure.attempts, erasure.deliveries) = (wiped.count, dropped.count)
        let mayHaveMore = max(wiped.count, dropped.count) >= limit
        for sequence in erased {
            guard let event = event(sequence) else { continue }
            let empty = event.erased(keepingSubject: mayHaveMore)
            if event.isErased, event.subject == empty.subject { continue }
            events[Int(sequence - first)] = empty
            if !event.isErased { erasure.events += 1 }
            erasure.freed[AppBlock.number(of: sequence), default: 0] += Int64(event.storedBytes - empty.storedBytes)
        }
        return erasure
    }

    package mutating func erase(_ subject: ErasedSubject, app: AppKey) -> Erasure {
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
