import HeraldRuntime

/// Orders the deliveries about one subject: one at a time, in order of arrival. Different subjects do not wait for each
/// other. Pure.
struct SubjectQueues {
    /// The deliveries queued behind the current one. A subject without an entry is free.
    private var lines: [String: FIFO<LogPosition>] = [:]

    var isEmpty: Bool { lines.isEmpty }

    /// Returns whether the delivery may start; otherwise it is queued.
    mutating func enter(_ subject: String, _ sequence: LogPosition) -> Bool {
        if lines[subject] == nil {
            lines[subject] = FIFO()
            return true
        }
        lines[subject]?.append(sequence)
        return false
    }

    /// Ends the current delivery about a subject.
    /// - Returns: the next delivery to start.
    mutating func leave(_ subject: String) -> LogPosition? {
        guard let next = lines[subject]?.popFirst() else {
            lines[subject] = nil
            return nil
        }
        return next
    }

    /// Removes a delivery from the queue. Returns whether it was queued; otherwise it is the current one, or unknown.
    mutating func remove(_ sequence: LogPosition, _ subject: String) -> Bool {
        guard contains(sequence, subject) else { return false }
        lines[subject]?.removeAll { $0 == sequence }
        return true
    }

    func contains(_ sequence: LogPosition, _ subject: String) -> Bool { lines[subject]?.contains(sequence) == true }

    /// All queued deliveries.
    var standing: [LogPosition] { lines.values.flatMap { $0 }.sorted() }
}
