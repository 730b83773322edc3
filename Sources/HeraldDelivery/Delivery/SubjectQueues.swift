import HeraldJSON
import HeraldModel
import HeraldRuntime

/// Orders the deliveries about one subject: one at a time, those that wait in the order of the log, except replays. Different
/// subjects do not wait for each other. Pure.
///
/// A queue may be stored: its deliveries are only in the store, and are loaded when the ones before them have ended.
/// Later deliveries that arrive after that are queued behind the stored ones.
struct SubjectQueues {
    private struct Line {
        /// Directly behind the current delivery.
        var front = FIFO<LogPosition>()
        /// There are deliveries in the store, between `front` and `back`, from this one on.
        var stored: LogPosition?
        var back = FIFO<LogPosition>()

        var count: Int { front.count + back.count }
    }

    /// The work that follows a delivery that has ended.
    enum Next: Equatable {
        case delivery(LogPosition)
        /// The deliveries of the subject that are only in the store.
        case stored
        case nothing
    }

    /// The deliveries queued behind the current one. A subject without an entry is free.
    private var lines: [ExactText: Line] = [:]

    var isEmpty: Bool { lines.isEmpty }
    /// Number of subjects with a current delivery.
    var count: Int { lines.count }

    /// Returns whether the delivery may start; otherwise it is queued.
    /// - Parameter isLast: behind all that waits. A replay would otherwise hold back new events until its end.
    mutating func enter(_ subject: String, _ sequence: LogPosition, isLast: Bool = false) -> Bool {
        let subject = ExactText(subject)
        if lines[subject] == nil {
            lines[subject] = Line()
            return true
        }
        let stored = lines[subject]?.stored
        switch (isLast, stored.map { isLast || $0 <= sequence } ?? false) {
        case (true, true): lines[subject]?.back.append(sequence)
        case (true, false): lines[subject]?.front.append(sequence)
        case (false, true): lines[subject]?.back.insert(sequence)
        case (false, false): lines[subject]?.front.insert(sequence)
        }
        return false
    }

    /// Ends the current delivery about a subject. While the queue is being loaded the subject is not free.
    mutating func leave(_ subject: String) -> Next {
        let subject = ExactText(subject)
        if let next = lines[subject]?.front.popFirst() { return .delivery(next) }
        if lines[subject]?.stored != nil { return .stored }
        lines[subject] = nil
        return .nothing
    }

    /// Removes a delivery from the queue. Returns whether it was queued; otherwise it is the current one, or unknown.
    mutating func remove(_ sequence: LogPosition, _ subject: String) -> Bool {
        guard contains(sequence, subject) else { return false }
        let subject = ExactText(subject)
        lines[subject]?.front.removeAll { $0 == sequence }
        lines[subject]?.back.removeAll { $0 == sequence }
        return true
    }

    func contains(_ sequence: LogPosition, _ subject: String) -> Bool {
        guard let line = lines[ExactText(subject)] else { return false }
        return line.front.contains(sequence) || line.back.contains(sequence)
    }

    /// All queued deliveries that are in memory.
    var standing: [LogPosition] { lines.values.flatMap { Array($0.front) + Array($0.back) }.sorted() }

    // MARK: Queues in the store

    /// Begins with a current delivery of a subject.
    /// - Parameter first: the delivery behind it, which is only in the store; `nil` if there is none.
    mutating func begin(_ subject: String, stored first: LogPosition?) {
        lines[ExactText(subject)] = Line(stored: first)
    }

    /// The first delivery of a subject that is only in the store.
    func stored(_ subject: String) -> LogPosition? { lines[ExactText(subject)]?.stored }

    func isStored(_ subject: String) -> Bool { stored(subject) != nil }

    var hasStored: Bool { lines.values.contains { $0.stored != nil } }

    /// The subject with the longest queue: one that is stored is longer than the others.
    var longest: String? {
        var longest: (subject: ExactText, count: Int)?
        for (subject, line) in lines {
            if line.stored != nil { return subject.text }
            if line.count > longest?.count ?? 0 { longest = (subject, line.count) }
        }
        return longest?.subject.text
    }

    /// Takes the deliveries out of the longest queues until at most `limit` are in memory; they stay in the store.
    /// - Parameter isStored: whether the row of a delivery is in the store.
    mutating func store(_ excess: Int, where isStored: (LogPosition) -> Bool) -> [LogPosition] {
        var stored: [LogPosition] = []
        let order = lines.filter { $0.value.count > 0 }.sorted { $0.value.count > $1.value.count }.map(\.key)
        for subject in order where stored.count < excess {
            guard var line = lines[subject] else { continue }
            let taken = (Array(line.front) + Array(line.back)).filter(isStored)
            guard let first = taken.min() else { continue }
            let left = Set(taken)
            // What is left arrived last.
            var back = FIFO<LogPosition>()
            for sequence in Array(line.front) + Array(line.back) where !left.contains(sequence) {
                back.append(sequence)
            }
            line.front = FIFO()
            line.back = back
            line.stored = min(line.stored ?? .max, first)
            lines[subject] = line
            stored += taken
        }
        return stored
    }

    /// Queues deliveries that were loaded.
    /// - Parameter next: the first one that is still only in the store; `nil` if there is none.
    mutating func loaded(_ subject: String, _ deliveries: [LogPosition], next: LogPosition?) {
        let subject = ExactText(subject)
        for sequence in deliveries { lines[subject]?.front.insert(sequence) }
        lines[subject]?.stored = next
        guard next == nil, let back = lines[subject]?.back else { return }
        for sequence in back { lines[subject]?.front.insert(sequence) }
        lines[subject]?.back = FIFO()
    }
}
